# SPDX-License-Identifier: Apache-2.0
"""Record a log of the server: enable it, wait, restore every setting, then write the tape.

restore file -> SET GLOBAL ... -> count -> wait (time, disk, rate, Ctrl-C) -> count -> restore settings -> log -> tape
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pymysql
from pymysql.connections import Connection

from ...common.errors import NoEventError, RefusedError, TargetError
from ...common.files import size_now
from ...common.signals import stop_on_signals, wait_for
from ...common.units import megabytes
from ...servers.facts import gather
from ...servers.target import Target
from ..record_source import capture_source
from ..source import Settings, TapeWarning
from ..source_table import SOURCES
from .coverage import Counted, Coverage, count_statements, measure_coverage
from .log_tables import rows_of, table_bytes, write_rows
from .plan import LoggingPlan, RecordOptions, server_identity
from .restore import (
    HandedBack,
    RestoreFile,
    WatchOptions,
    connection_id,
    default_restore_file,
    read_restore_file,
    replace_restore_file,
    server_started,
    settle,
    take_back,
    with_connection,
    write_restore_file,
)
from .sessions import Renewal, Span, carrying_now
from .settings import BEGIN, CONTROL, GLOBAL_CONTROL, HOLD, Left, set_global

MIN_FREE_SHARE = 0.05
RATE_SECONDS = 5
NO_END = 1 << 62
SAME_START_S = 30  # tolerance for the start time, in seconds of the server's clock
# Finds sessions from before the capture that logged statements shorter than the previous long_query_time.
CHANGED = "SELECT DISTINCT thread_id FROM events WHERE thread_id <= ? AND duration_ns < ?"
UNKNOWN = [
    {
        "kind": "coverage_unknown",
        "text": (
            "the server did not report how many statements it executed, so the share of logged statements is unknown"
        ),
    }
]


@dataclass
class Course:
    """The course of a recording: reason for its end, statement counts before and after, and ended idle sessions."""

    ended: str = "stopped by hand"
    broke: bool = False
    before: Counted | None = None
    after: Counted | None = None
    renewal: Renewal = field(default_factory=Renewal)


@dataclass(frozen=True)
class Recorded:
    """A finished recording: the log file, its source kind and the course of the recording.

    `own`: ids of the sessions of querytape. `saved` and `span`: input for `settle`. `left`: settings that were not
    restored, as messages.
    """

    log: Path
    kind: str
    course: Course
    own: frozenset[int]
    saved: RestoreFile
    span: Span
    left: Left


def record_log(target: Target, plan: LoggingPlan, options: RecordOptions, work: Path) -> Recorded:
    """Enable the log, wait, restore the settings that can be restored immediately, and return the log.

    `settle` restores the other settings. `work`: a folder for a log that is read from a table. Raises RefusedError if
    the server refuses a change, InputError if an earlier recording was not restored, and TargetError if the server
    cannot be reached. KeyboardInterrupt ends the wait.
    """
    with closing(target.connect()) as con, closing(target.connect()) as spare:
        own = {connection_id(con), connection_id(spare)}
        for each in (con, spare):
            log_nothing_of(each)
        skip = 0 if plan.method == "file" else rows_of(con, plan.method)
        saved = restore_file_of(target, plan, con, max(own))
        course = Course(renewal=Renewal(options.renew_rate))
        write_restore_file(plan.restore_file, saved)
        try:
            _log(con, plan, options, own, course)
        except KeyboardInterrupt:
            course.ended = "stopped by hand"
        except (pymysql.MySQLError, OSError) as error:
            course.ended, course.broke = f"the connection broke: {error}", True
        finally:
            with stop_on_signals(lambda: None):  # ignores signals, because a partial restore is worse than a wait
                saved, left = _set_back(target, spare, plan.restore_file, saved, own)
    if not left.refused:
        with suppress(TargetError):
            saved = settings_are_back(target, plan.restore_file, saved)
            own.add(saved.last_id)
    span = Span(saved.first_id, saved.last_id or NO_END, frozenset(saved.already), frozenset(own))
    log = plan.log_file or work / "table.log"
    if plan.log_file is None:
        with log.open("wb") as out:
            write_rows(target.connect(streams=True), plan.method, skip, out)
    kind = "general" if plan.method == "general" else "slowlog"
    return Recorded(log, kind, course, span.own, saved=saved, span=span, left=left)


def restore_file_of(target: Target, plan: LoggingPlan, con: "Connection[Any]", first_id: int) -> RestoreFile:
    """Return the restore file to write before the first change."""
    return RestoreFile(
        server=url_of(target),
        identity=server_identity(target, plan.facts),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        changes=plan.changes,
        log_file=str(plan.log_file) if plan.log_file else None,
        method=plan.method,
        first_id=first_id,
        already=carrying_now(con),
        started=server_started(con),
    )


def _log(con: "Connection[Any]", plan: LoggingPlan, options: RecordOptions, own: set[int], course: Course) -> None:
    """Change the settings and wait. Count the statements that the server executes during the wait."""
    for change in plan.changes:
        if change.role in (BEGIN, CONTROL):
            set_global(con, change.name, change.wanted)
    course.before = count_statements(con, own)
    renews = options.renew_rate and GLOBAL_CONTROL not in plan.facts.variables
    options.begun.set()
    try:
        first_id = max(own)
        course.ended = wait(
            con, plan, options, lambda elapsed: course.renewal.step(con, elapsed, first_id, own) if renews else None
        )
    finally:
        with stop_on_signals(lambda: None), suppress(pymysql.MySQLError, TargetError, OSError):
            course.after = count_statements(con, own)


def _set_back(
    target: Target, spare: "Connection[Any]", path: Path, saved: RestoreFile, own: set[int]
) -> tuple[RestoreFile, Left]:
    """Restore the settings over the spare connection, whose statements are not logged.

    Reconnect if this connection is broken.
    """
    with suppress(pymysql.MySQLError, TargetError, OSError):
        return take_back(spare, path, saved)

    def again(con: "Connection[Any]") -> tuple[RestoreFile, Left]:
        log_nothing_of(con)
        own.add(connection_id(con))
        return take_back(con, path, read_restore_file(path))

    try:
        return with_connection(target, again)
    except TargetError as error:
        return saved, Left(refused=(f"could not restore the settings: {error}",))


def log_nothing_of(con: "Connection[Any]") -> None:
    """Keep the statements of this connection out of the log if the server supports it."""
    for statement in ("SET SESSION long_query_time = 31536000", "SET SESSION sql_log_off = 1"):
        with suppress(pymysql.MySQLError), con.cursor() as cursor:
            cursor.execute(statement)


def wait(
    con: "Connection[Any]", plan: LoggingPlan, options: RecordOptions, each_second: Callable[[float], None]
) -> str:
    """Wait for the end of the recording and return the reason for the end.

    The reasons are the duration, the size or growth of the log, a full disk, and `options.enough`. `each_second`
    receives the elapsed seconds.
    """
    began = time.monotonic()
    sizes: list[int] = []
    first = table_bytes(con, plan.method) if plan.log_file is None else 0
    while (elapsed := time.monotonic() - began) < options.duration_s:
        if wait_for(options.enough, min(1.0, options.duration_s - elapsed)):
            return "stopped on request"
        each_second(time.monotonic() - began)
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
    return "the capture reached its --duration"


def _size(con: "Connection[Any]", plan: LoggingPlan) -> int:
    if plan.log_file is not None:
        con.ping()
        return size_now(plan.log_file)
    return table_bytes(con, plan.method)


def _free(path: Path) -> float:
    disk = os.statvfs(path.parent)
    return disk.f_bavail / disk.f_blocks if disk.f_blocks else 1.0


def settle_recorded(
    target: Target, path: Path, recorded: Recorded, watch: WatchOptions, seen: Iterable[int] = ()
) -> HandedBack:
    """Wait for the sessions with the settings of a recording.

    `seen`: sessions from before the capture that have these settings according to their log entries.
    """
    left = recorded.left
    if left.refused:
        again = f"NOT RESTORED: run `querytape capture server {recorded.saved.server} --restore` (restore file: {path})"
        return HandedBack((*left.changed, *left.refused, again), done=False)
    back = settle(target, path, recorded.saved, replace(recorded.span, seen=frozenset(seen)), watch)
    return replace(back, lines=(*left.changed, *back.lines))


def restore_server(target: Target, path: Path | None, watch: WatchOptions) -> HandedBack:
    """Restore the settings after a killed capture and return messages about the result.

    `path`: the restore file, or None for its default path. Raises InputError if there is no restore file, and
    RefusedError if the file belongs to another server or a setting cannot be restored.
    """
    with closing(target.connect()) as con:
        log_nothing_of(con)
        identity = server_identity(target, gather(con))
        where = path or default_restore_file(identity)
        saved = read_restore_file(where)
        if saved.identity != identity:
            raise RefusedError(
                f"{where}: this restore file belongs to {saved.server} ({saved.identity}), not to {identity}"
            )
        with stop_on_signals(lambda: None):
            saved, left = take_back(con, where, saved)
        same_server = abs(server_started(con) - saved.started) < SAME_START_S
    if left.refused:
        raise RefusedError("; ".join((*left.changed, *left.refused)) + f" ({where} is kept)")
    saved = settings_are_back(target, where, saved)
    until = saved.last_id if same_server else 0  # a restart of the server has ended these sessions
    back = settle(target, where, saved, Span(saved.first_id, until, frozenset(saved.already)), watch)
    if not back.done:
        return back
    done = ", ".join(f"{change.name} = {change.before!r}" for change in saved.of(BEGIN))
    log = (
        f". The log {saved.log_file} is kept for `querytape capture slowlog`"
        if saved.log_file and Path(saved.log_file).exists()
        else ""
    )
    head = f"restored the settings that {target.name} had at {saved.at}: {done or 'nothing was changed'}{log}"
    return replace(back, lines=(head, *left.changed, *back.lines))


def settings_are_back(target: Target, path: Path, saved: RestoreFile) -> RestoreFile:
    """Save the id of the first session that connects with the restored settings. Keep an id that is already saved.

    Returns the updated restore file.
    """
    if saved.last_id:
        return saved
    with closing(target.connect()) as con:
        log_nothing_of(con)
        saved = replace(saved, last_id=connection_id(con))
    if saved.of(CONTROL, HOLD):
        replace_restore_file(path, saved)
    return saved


def url_of(target: Target) -> str:
    """Return the URL of the server as a user types it, without a password."""
    place = f"/?socket={target.socket}" if target.socket else f"{target.host}:{target.port}/"
    return f"mysql://{target.user}@{place}"


def tape_of(
    recorded: Recorded, plan: LoggingPlan, output: Path, settings: Settings
) -> tuple[dict[str, Any], frozenset[int]]:
    """Write the tape. Return its JSON and the older sessions with the settings of the capture.

    The log shows which sessions from before the capture have its settings. `settings` must not contain values that the
    recording determines. Raises InputError if the log has no events.
    """
    seen: set[int] = set()

    def judge(con: duckdb.DuckDBPyConnection) -> tuple[dict[str, Any], list[TapeWarning]]:
        seen.update(sessions_changed(con, recorded, plan))
        renewed = {"renewed": recorded.course.renewal.as_json()} if recorded.course.renewal.rate else {}
        coverage = coverage_of(con, recorded, plan)
        if coverage is None:
            return {"coverage": None} | renewed, UNKNOWN if plan.method != "general" else []
        return {"coverage": coverage.as_json()} | renewed, coverage.warnings(plan.method)

    changed = tuple(change.name for change in plan.changes)
    whole = replace(settings, extra={"changed": changed}, not_threads=tuple(sorted(recorded.own)), judge=judge)
    try:
        info = capture_source(SOURCES[recorded.kind], [str(recorded.log)], output, whole)
    except NoEventError as error:
        coverage = coverage_of(None, recorded, plan)
        empty = "the server logged no statement during the capture (no tape was written)"
        told = "; ".join(warning["text"] for warning in coverage.warnings(plan.method)) if coverage else ""
        raise NoEventError(": ".join(filter(None, (empty, told, recorded.course.renewal.sentence())))) from error
    return info, frozenset(seen)


def coverage_of(con: duckdb.DuckDBPyConnection | None, recorded: Recorded, plan: LoggingPlan) -> Coverage | None:
    """Return the coverage of the log. Return None if the server did not report its counts."""
    before, after = recorded.course.before, recorded.course.after
    if before is None or after is None:
        return None
    version = plan.facts.version
    logs_errors = "MariaDB" in version or version.startswith("5.") or plan.method == "general"
    return measure_coverage(before, after, con, recorded.own, logs_errors)


def sessions_changed(con: duckdb.DuckDBPyConnection, recorded: Recorded, plan: LoggingPlan) -> set[int]:
    """Return the older sessions that now have the capture's threshold, because a reset or a change of user copied it.

    Returns no sessions if the server has the global control of Percona Server. This control applies to all sessions,
    and no session copies the threshold.
    """
    before = next((change.before for change in plan.changes if change.name == "long_query_time"), None)
    if before is None or GLOBAL_CONTROL in plan.facts.variables:
        return set()
    rows = con.execute(CHANGED, [recorded.saved.first_id, int(float(before) * 1e9)]).fetchall()
    return {row[0] for row in rows if row[0] is not None}
