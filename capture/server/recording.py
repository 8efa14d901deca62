# SPDX-License-Identifier: Apache-2.0
"""A server's own log, switched on for a while: what will be changed is said first, and taken back on any way out.

look -> plan -> remember -> set -> wait (time, disk, rate, Ctrl-C) -> take back -> forget -> the log is a tape's source
"""

import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...errors import InputError, RefusedError, TargetError
from ...servers.facts import Facts, gather
from ...servers.target import Target
from .settings import (
    Change,
    Remembered,
    default_restore_file,
    plan_changes,
    recall,
    remember,
    restore,
    set_global,
)
from .tables import rows_of, table_bytes, write_rows

METHODS = ("auto", "file", "table", "general")
LEAST_FREE = 0.05
RATE_SECONDS = 5
RECONNECTS = 20


@dataclass(frozen=True)
class RecordOptions:
    """How long and how much: `duration_s`; `max_disk` bytes of log; `max_rate` bytes a second for 5 s on end.

    `enough`: set by another thread, it ends the recording. `begun`: set here, once the log is on.
    """

    duration_s: float = 600.0
    max_disk: int = 8 << 30
    max_rate: int = 64 << 20
    method: str = "auto"
    restore_file: Path | None = None
    say: Callable[[str], None] = field(default=lambda text: None)
    enough: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Plan:
    """What will be done: the method, the changes in order, our own log file, what can't be seen."""

    facts: Facts
    method: str
    changes: tuple[Change, ...]
    log_file: Path | None
    notes: tuple[str, ...]
    restore_file: Path

    def lines(self) -> list[str]:
        """Return it for reading, one change a line."""
        what = {"file": f"as file {self.log_file}", "table": "from mysql.slow_log", "general": "from mysql.general_log"}
        found = [f"{self.facts.version} on {self.facts.hostname or '?'}; the log is read {what[self.method]}"]
        found += [f"  SET GLOBAL {c.name} = {c.wanted!r}   (now {c.before!r})" for c in self.changes]
        found += [] if self.changes else ["  nothing has to change: everything is logged already"]
        return found + [f"  {note}" for note in self.notes]


@dataclass(frozen=True)
class Recorded:
    """What lies there after the recording: the log as a file, its kind, why it ended, what must be said of it."""

    log: Path
    kind: str
    ended: str
    warnings: tuple[str, ...]
    ours: bool


def identity(target: Target, facts: Facts) -> str:
    """Return what the restore file is called by."""
    return facts.identity or target.name


def make_plan(target: Target, facts: Facts, options: RecordOptions) -> Plan:
    """Choose how to read, and what to set for it. Raises RefusedError where no way is open."""
    method, log_file = options.method, None
    if method in ("auto", "file"):
        log_file = own_log(facts)
        if log_file is None and method == "file":
            raise RefusedError(
                "--read file: the server's log folder is not on this machine, or this user can't read it: run it there"
                " as root or the server's own user, or read the log's table with --read table"
            )
        method = "file" if log_file is not None else "table"
    changes = plan_changes(facts.variables, method, str(log_file) if log_file else None)
    notes = []
    open_now = (facts.connected or 1) - 1
    if open_now > 0 and "slow_query_log_use_global_control" not in facts.variables and method != "general":
        notes.append(
            f"{open_now} connections are open: this server logs their statements only after they connect again"
        )
    if method == "general":
        notes.append("the general log knows no durations, rows or errors")
    restore_file = options.restore_file or default_restore_file(identity(target, facts))
    return Plan(facts, method, changes, log_file, tuple(notes), restore_file)


def own_log(facts: Facts) -> Path | None:
    """Return the path of a new log beside the server's own, where this process will be able to read it."""
    current = Path(facts.variables.get("slow_query_log_file", ""))
    folder = current.parent if current.is_absolute() else Path(facts.variables.get("datadir", "/nonexistent"))
    pid = Path(facts.variables.get("pid_file", ""))
    local = folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    if not local or not (pid.exists() or (folder / pid.name).exists() or current.exists()):
        return None
    if os.geteuid() != 0 and folder.stat().st_uid != os.geteuid():
        return None
    return folder / f"querytape-{secrets.token_hex(4)}.log"


def record(target: Target, plan: Plan, options: RecordOptions, work: Path) -> Recorded:
    """Switch the log on, wait, switch it back. Raises RefusedError where the server refuses; all is taken back then."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    log_text = str(plan.log_file) if plan.log_file else None
    con = target.connect()
    skip = 0 if plan.method == "file" else rows_of(con, plan.method)
    remember(plan.restore_file, Remembered(_url(target), identity(target, plan.facts), now, plan.changes, log_text))
    ended, warnings = "?", list(plan.notes)
    try:
        keep_quiet(con)
        for change in plan.changes:
            set_global(con, change.name, change.wanted)
        options.begun.set()
        ended = wait(con, plan, options)
    except KeyboardInterrupt:
        ended = "stopped by hand"
    except (pymysql.MySQLError, OSError) as fault:
        ended = f"the connection broke: {fault}"
    finally:
        with suppress(pymysql.MySQLError):
            con.close()
        warnings += take_back(target, plan)
    if plan.log_file is not None:
        return Recorded(plan.log_file, "slowlog", ended, tuple(warnings), ours=True)
    log = work / "table.log"
    with log.open("wb") as out:
        write_rows(target.connect(), plan.method, skip, out)
    return Recorded(log, "general" if plan.method == "general" else "slowlog", ended, tuple(warnings), ours=True)


def keep_quiet(con: "Connection[Any]") -> None:
    """Keep this connection's own statements out of the log, where the server can."""
    for statement in ("SET SESSION long_query_time = 31536000", "SET SESSION sql_log_off = 1"):
        with suppress(pymysql.MySQLError), con.cursor() as cursor:
            cursor.execute(statement)


def wait(con: "Connection[Any]", plan: Plan, options: RecordOptions) -> str:
    """Wait until time, disk or rate end it; return which."""
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
            f"{elapsed:,.0f} of {options.duration_s:,.0f} s, log {sizes[-1] / 1e6:,.1f} MB, {rate / 1e6:,.1f} MB/s"
        )
        if sizes[-1] > options.max_disk:
            return f"the log reached --max-disk ({options.max_disk / 1e6:,.0f} MB)"
        if rate > options.max_rate:
            return f"the log grew faster than --max-rate ({options.max_rate / 1e6:,.0f} MB/s)"
        if plan.log_file is not None and _free(plan.log_file) < LEAST_FREE:
            return f"less than {LEAST_FREE:.0%} of the log's disk is free"
    return "the time is over"


def _size(con: "Connection[Any]", plan: Plan) -> int:
    if plan.log_file is not None:
        con.ping()
        return plan.log_file.stat().st_size if plan.log_file.exists() else 0
    return table_bytes(con, plan.method)


def _free(path: Path) -> float:
    disk = os.statvfs(path.parent)
    return disk.f_bavail / disk.f_blocks if disk.f_blocks else 1.0


def take_back(target: Target, plan: Plan) -> list[str]:
    """Set everything as before, over a new connection where it must be; return what is left. Forgets when all is done.

    Further Ctrl-C are for later: this takes a moment, and half of it would be worse than waiting.
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
    return [f"the settings could not be taken back: run `querytape capture server {_url(target)} --restore`"]


def restore_server(target: Target, path: Path | None) -> list[str]:
    """Do what a cut-off capture could not: take its changes back. Returns lines that say what was done.

    Raises InputError without a restore file, RefusedError where it is another server's.
    """
    con = target.connect()
    facts = gather(con)
    where = path or default_restore_file(identity(target, facts))
    found = recall(where)
    if found.identity != identity(target, facts):
        raise RefusedError(f"{where}: belongs to {found.server} ({found.identity}), not to {facts.identity}")
    left = restore(con, found.changes)
    done = [f"{change.name} = {change.before!r}" for change in found.changes]
    if left:
        raise RefusedError("; ".join(left) + f" ({where} is kept)")
    where.unlink()
    log = f"; its log {found.log_file} is left for `querytape capture slowlog`" if found.log_file else ""
    return [f"{target.name} is as it was at {found.at}: {', '.join(done) or 'nothing was changed'}{log}"]


def _url(target: Target) -> str:
    place = f"/?socket={target.socket}" if target.socket else f"{target.host}:{target.port}/"
    return f"mysql://{target.user}@{place}"


def check_options(options: RecordOptions) -> None:
    """Raise InputError for a method that does not exist or a time that is none."""
    if options.method not in METHODS:
        raise InputError(f"--read: expected one of {', '.join(METHODS)}, found {options.method!r}")
    if options.duration_s <= 0:
        raise InputError("--duration: expected more than 0 s")
