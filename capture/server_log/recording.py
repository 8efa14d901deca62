# SPDX-License-Identifier: Apache-2.0
"""Record a server's own log: switch it on, wait, and set every setting back on any way out.

restore file -> SET GLOBAL ... -> wait (time, disk, rate, Ctrl-C) -> settings back -> restore file removed -> the log
"""

import os
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import RefusedError, TargetError
from ...common.units import megabytes
from ...servers.facts import gather
from ...servers.target import Target
from .log_tables import rows_of, table_bytes, write_rows
from .logging_plan import LoggingPlan, RecordOptions, server_identity
from .settings import RestoreFile, default_restore_file, read_restore_file, restore, set_global, write_restore_file

MIN_FREE_SHARE = 0.05
RATE_SECONDS = 5
RECONNECTS = 20


@dataclass(frozen=True)
class Recorded:
    """A recording: the log as a file, its kind of source, why it ended, and what is missing or was not set back."""

    log: Path
    kind: str
    ended: str
    warnings: tuple[str, ...]


def record_log(target: Target, plan: LoggingPlan, options: RecordOptions, work: Path) -> Recorded:
    """Switch the log on, wait, set everything back; return the log. `work`: a folder for a log read from a table.

    Raises RefusedError where the server refuses a change, InputError where an earlier recording was not restored,
    TargetError where it cannot be reached. KeyboardInterrupt ends the waiting.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    log_text = str(plan.log_file) if plan.log_file else None
    con = target.connect()
    skip = 0 if plan.method == "file" else rows_of(con, plan.method)
    identity = server_identity(target, plan.facts)
    write_restore_file(plan.restore_file, RestoreFile(_url(target), identity, now, plan.changes, log_text))
    ended, warnings = "?", list(plan.notes)
    try:
        log_nothing_of(con)
        for change in plan.changes:
            set_global(con, change.name, change.wanted)
        options.begun.set()
        ended = wait(con, plan, options)
    except KeyboardInterrupt:
        ended = "stopped by hand"
    except (pymysql.MySQLError, OSError) as error:
        ended = f"the connection broke: {error}"
    finally:
        with suppress(pymysql.MySQLError):
            con.close()
        warnings += restore_settings(target, plan)
    if plan.log_file is not None:
        return Recorded(plan.log_file, "slowlog", ended, tuple(warnings))
    log = work / "table.log"
    with log.open("wb") as out:
        write_rows(target.connect(streams=True), plan.method, skip, out)
    return Recorded(log, "general" if plan.method == "general" else "slowlog", ended, tuple(warnings))


def log_nothing_of(con: "Connection[Any]") -> None:
    """Keep this connection's own statements out of the log, where the server can do that."""
    for statement in ("SET SESSION long_query_time = 31536000", "SET SESSION sql_log_off = 1"):
        with suppress(pymysql.MySQLError), con.cursor() as cursor:
            cursor.execute(statement)


def wait(con: "Connection[Any]", plan: LoggingPlan, options: RecordOptions) -> str:
    """Wait until the duration, the log's size or rate, its disk or `options.enough` ends it; return which, in words."""
    began = time.monotonic()
    sizes: list[int] = []
    first = table_bytes(con, plan.method) if plan.log_file is None else 0
    while (elapsed := time.monotonic() - began) < options.duration_s:
        if options.enough.wait(min(1.0, options.duration_s - elapsed)):
            return "that is enough"
        sizes.append(_size(con, plan) - first)
        rate = (sizes[-1] - sizes[-1 - RATE_SECONDS]) / RATE_SECONDS if len(sizes) > RATE_SECONDS else 0.0
        elapsed = time.monotonic() - began
        options.say(
            f"{elapsed:,.0f} of {options.duration_s:,.0f} s, log {megabytes(sizes[-1], 1)}, {megabytes(rate, 1)}/s"
        )
        if sizes[-1] > options.max_disk:
            return f"the log reached --max-disk ({megabytes(options.max_disk)})"
        if rate > options.max_rate:
            return f"the log grew faster than --max-rate ({megabytes(options.max_rate)}/s)"
        if plan.log_file is not None and _free(plan.log_file) < MIN_FREE_SHARE:
            return f"less than {MIN_FREE_SHARE:.0%} of the log's disk is free"
    return "the time is over"


def _size(con: "Connection[Any]", plan: LoggingPlan) -> int:
    if plan.log_file is not None:
        con.ping()
        return plan.log_file.stat().st_size if plan.log_file.exists() else 0
    return table_bytes(con, plan.method)


def _free(path: Path) -> float:
    disk = os.statvfs(path.parent)
    return disk.f_bavail / disk.f_blocks if disk.f_blocks else 1.0


def restore_settings(target: Target, plan: LoggingPlan) -> list[str]:
    """Set everything back over a new connection; return what is left as sentences. Removes the restore file if nothing.

    Ctrl-C is ignored here: this takes a moment, and half of it would be worse than waiting.
    """
    for attempt in range(RECONNECTS):
        try:
            con = target.connect(timeout_s=5)
            left = restore(con, plan.changes)
            con.close()
            if not left:
                plan.restore_file.unlink(missing_ok=True)
            return left
        except KeyboardInterrupt:
            continue
        except (TargetError, pymysql.MySQLError, OSError):
            time.sleep(min(0.25 * (attempt + 1), 2))
    return [f"the settings could not be set back: run `querytape capture server {_url(target)} --restore`"]


def restore_server(target: Target, path: Path | None) -> list[str]:
    """Set back what a killed capture had changed; return lines that say what was done. `path`: of the restore file.

    Raises InputError without a restore file, RefusedError where it belongs to another server or a setting stays.
    """
    with closing(target.connect()) as con:
        identity = server_identity(target, gather(con))
        where = path or default_restore_file(identity)
        saved = read_restore_file(where)
        if saved.identity != identity:
            raise RefusedError(f"{where}: belongs to {saved.server} ({saved.identity}), not to {identity}")
        left = restore(con, saved.changes)
    if left:
        raise RefusedError("; ".join(left) + f" ({where} is kept)")
    where.unlink()
    done = ", ".join(f"{change.name} = {change.before!r}" for change in saved.changes)
    log = f"; its log {saved.log_file} is left for `querytape capture slowlog`" if saved.log_file else ""
    return [f"{target.name} is as it was at {saved.at}: {done or 'nothing was changed'}{log}"]


def _url(target: Target) -> str:
    place = f"/?socket={target.socket}" if target.socket else f"{target.host}:{target.port}/"
    return f"mysql://{target.user}@{place}"
