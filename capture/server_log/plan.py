# SPDX-License-Identifier: Apache-2.0
"""Plan the recording of a server log: the way to read it, the settings to change, and missing privileges.

Planning changes nothing. A SET statement with an invalid value tests whether the account may change settings.
"""

import os
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import InputError, OptionError, RefusedError
from ...common.text import printable
from ...common.units import megabytes
from ...servers.facts import Facts, sees_other_accounts
from ...servers.queries import query_or_none
from ...servers.target import Target, fault_text
from .log_tables import TABLES
from .restore import default_restore_file, pending_sentence
from .sessions import CARRYING, renewal_notes
from .settings import CONTROL, COPIED, GLOBAL_CONTROL, HOLD, Change, plan_changes, same

PROBE = "SET GLOBAL long_query_time = 'querytape'"
ACCESS_DENIED = frozenset({1044, 1045, 1142, 1143, 1227})
RENEW = "--renew-idle"
MAY_KILL = frozenset({"SUPER", "CONNECTION_ADMIN", "CONNECTION ADMIN", "ALL PRIVILEGES"})
BYTES_PER_STATEMENT = 300  # estimate: a log entry header and a short statement
METHODS = ("auto", "file", "table", "general")


@dataclass(frozen=True)
class RecordOptions:
    """Limits and options of a recording.

    `duration_s`: seconds. `max_disk`: bytes of log. `max_rate`: bytes per second. `max_rate` applies to an average over
    5 s. `method`: one of METHODS. `restore_file`: None means one file per server in the state folder of the user. `say`
    receives a progress message once per second. `enough`: event by which another thread ends the recording. `begun`:
    event that is set when the log is enabled. `renew_rate`: maximum number of idle sessions to end per second.
    """

    duration_s: float = 600.0
    max_disk: int = 8 << 30
    max_rate: int = 64 << 20
    method: str = "auto"
    restore_file: Path | None = None
    say: Callable[[str], None] = field(default=lambda text: None)
    enough: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    renew_rate: float = 0.0


@dataclass(frozen=True)
class LoggingPlan:
    """A recording plan: its method, the ordered changes, the path of querytape's log file (or None), and notes.

    The notes report statements that the log will miss.
    """

    facts: Facts
    method: str
    changes: tuple[Change, ...]
    log_file: Path | None
    notes: tuple[str, ...]
    restore_file: Path

    def lines(self) -> list[str]:
        """Return the plan as readable lines, one per change."""
        how = {"file": f"from {self.log_file}", "table": "from mysql.slow_log", "general": "from mysql.general_log"}
        lines = [f"{self.facts.version} on {self.facts.hostname or '?'}: querytape reads the log {how[self.method]}"]
        begin = [change for change in self.changes if change.role != HOLD]
        lines += [f"  SET GLOBAL {c.name} = {c.wanted!r}   (now {c.before!r})" for c in begin]
        lines += [] if begin else ["  no change is needed: the server already logs every statement"]
        return lines + [f"  {note}" for note in self.notes]


def check_options(options: RecordOptions) -> None:
    """Raise InputError for an unknown method, for a duration of 0 s, and for --renew-idle with the general log."""
    if options.method not in METHODS:
        raise OptionError(f"--read: expected one of {', '.join(METHODS)}, found {options.method!r}")
    if options.duration_s <= 0:
        raise OptionError("--duration: expected more than 0 s")
    if options.renew_rate and options.method == "general":
        raise InputError(
            "--renew-idle is not needed with --read general, because the general log contains the sessions that were"
            " open before the capture"
        )


def plan_logging(target: Target, facts: Facts, options: RecordOptions) -> LoggingPlan:
    """Choose the way to read the log and the settings to change.

    Raises RefusedError if --read file is given but this process cannot read the log folder of the server.
    """
    method, log_file = options.method, None
    if method in ("auto", "file"):
        log_file = own_log(facts)
        if log_file is None and method == "file":
            raise RefusedError(
                "--read file: this user cannot read the server's log folder on this machine. Run querytape on"
                " the server's host as root or as the server's user, or use --read table"
            )
        method = "file" if log_file is not None else "table"
    changes = plan_changes(facts.variables, method, str(log_file) if log_file else None)
    notes = plan_notes(facts, method, changes, log_file, options.max_disk)
    restore_file = options.restore_file or default_restore_file(server_identity(target, facts))
    return LoggingPlan(facts, method, changes, log_file=log_file, notes=notes, restore_file=restore_file)


def with_renewal(plan: LoggingPlan, con: "Connection[Any]", rate: float) -> LoggingPlan:
    """Return the plan with notes about the effect of --renew-idle."""
    notes = renewal_notes(con, rate, GLOBAL_CONTROL in plan.facts.variables)
    return replace(plan, notes=(*plan.notes, *notes))


def server_identity(target: Target, facts: Facts) -> str:
    """Return a unique name of the server: the identity that the server reports, or its address."""
    return facts.identity or target.name


def own_log(facts: Facts) -> Path | None:
    """Return a path for a new log in the log folder of the server, or None if this process cannot read the folder."""
    current = Path(facts.variables.get("slow_query_log_file", ""))
    folder = current.parent if current.is_absolute() else Path(facts.variables.get("datadir", "/nonexistent"))
    pid = Path(facts.variables.get("pid_file", ""))
    local = folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    if not local or not (pid.exists() or (folder / pid.name).exists() or current.exists()):
        return None
    if os.geteuid() != 0 and folder.stat().st_uid != os.geteuid():
        return None
    return folder / f"querytape-{secrets.token_hex(4)}.log"


def plan_notes(
    facts: Facts, method: str, changes: Sequence[Change], log_file: Path | None, max_disk: int
) -> tuple[str, ...]:
    """Return the notes of a plan. Each note is a complete sentence."""
    notes = _not_logged(facts, method)
    most = f"at most about {megabytes(max_disk)} (--max-disk)"
    if log_file:
        written = f"the capture writes {most} to {log_file}, and removes this file at the end"
    else:
        written = f"the capture writes {most} to mysql.{_table(method)}, and leaves the rows in this table"
    notes.append(written + _rate(facts))
    if method == "table":
        notes.append("the tape will have no error numbers, because mysql.slow_log has no columns for log_slow_extra")
    notes += _shared_output(facts, changes)
    return (*notes, *_stays_behind(facts, changes))


def _not_logged(facts: Facts, method: str) -> list[str]:
    if method == "general":
        return ["the general log contains no durations, row counts or errors"]
    open_now = (facts.connected or 1) - 1
    if open_now <= 0 or GLOBAL_CONTROL in facts.variables:
        return []
    return [
        f"open connections: {open_now:,}. This server logs statements of these connections only after they reconnect"
    ]


def _table(method: str) -> str:
    return "general_log" if method == "general" else "slow_log"


def _rate(facts: Facts) -> str:
    """Return the expected growth of the log in parentheses. Return an empty text if the growth is unknown.

    The estimate uses the mean statement rate since the server started.
    """
    if not facts.statements_per_s:
        return ""
    grows = f"{facts.statements_per_s * BYTES_PER_STATEMENT / 1e6:,.2f}"
    return (
        f". Expect about {grows} MB/s at this server's average of {facts.statements_per_s:,.0f} statements per second"
    )


def _shared_output(facts: Facts, changes: Sequence[Change]) -> list[str]:
    """Return a note if a changed log_output also affects an enabled general log."""
    moved = any(change.name == "log_output" for change in changes)
    switched = any(change.name == "general_log" for change in changes)
    if moved and not switched and same(facts.variables.get("general_log", "OFF"), "ON"):
        return [
            (
                "the server's general log is on. The changed log_output also applies to the general log during the"
                " capture"
            )
        ]
    return []


def _stays_behind(facts: Facts, changes: Sequence[Change]) -> list[str]:
    """Return notes about settings that sessions keep after the capture, and about the effect on the slow log.

    Sessions that connect during the capture copy the settings of the capture.
    """
    if not any(change.name in COPIED for change in changes):
        return []
    kept = "sessions that connect during the capture keep long_query_time = 0 until they disconnect"
    own = facts.variables.get("slow_query_log_file", "?")
    if any(change.role == HOLD for change in changes):
        return [
            f"the server's own slow log ({own}) is on, but receives no statements during the capture",
            f"{kept}. The server's own slow log stays off until these sessions are gone. --log-again enables the log"
            " anyway, and --end-sessions ends idle sessions",
        ]
    if any(change.role == CONTROL for change in changes):
        return [
            f"{kept}. {GLOBAL_CONTROL} stays 'all' until these sessions disconnect, so that they use the global"
            " threshold"
        ]
    return [f"{kept}. After the capture these sessions write nothing, because the slow log is off again"]


@dataclass(frozen=True)
class Rights:
    """Messages about missing privileges.

    `needed`: privileges without which a capture cannot start. `useful`: privileges without which a capture is less
    complete.
    """

    needed: tuple[str, ...]
    useful: tuple[str, ...]


def check_rights(
    con: "Connection[Any]", facts: Facts, method: str, restore_file: Path, *, changes: bool, end_sessions: str = ""
) -> Rights:
    """Return the privileges that the account lacks for a capture by `method`.

    Also reports an earlier capture that was not restored, and a restore file that cannot be written. `changes`: whether
    any setting must change. `end_sessions`: name of the option that ends sessions, or "".
    """
    account = account_name(con)
    maria = "MariaDB" in facts.version
    needed: list[str] = []
    useful: list[str] = []
    if pending := pending_sentence(restore_file):
        needed.append(pending)
    elif not _may_write(restore_file):
        needed.append(f"{restore_file}: cannot write the restore file. Choose another place with --restore-file")
    if changes and _denied(con, PROBE):
        old = maria or facts.version.startswith("5.")
        needed.append(
            f"{account} may not change settings. Run GRANT {'SUPER' if old else 'SYSTEM_VARIABLES_ADMIN'} ON *.* TO"
            f" {account}. On a managed server, change the parameter group instead"
        )
    if method in TABLES and _denied(con, f"SELECT 1 FROM mysql.{TABLES[method]} LIMIT 0"):
        table = f"mysql.{TABLES[method]}"
        needed.append(f"{account} may not read {table}. Run GRANT SELECT ON {table} TO {account}")
    if end_sessions and not _may_kill(facts):
        right = "CONNECTION ADMIN" if maria else "SUPER" if facts.version.startswith("5.") else "CONNECTION_ADMIN"
        needed.append(f"{end_sessions}: {account} may not end sessions. Run GRANT {right} ON *.* TO {account}")
    if not sees_other_accounts(con):
        (needed if end_sessions == RENEW else useful).append(
            f"{account} sees only its own sessions. Run GRANT PROCESS ON *.* TO {account}"
        )
    schema_on = same(facts.variables.get("performance_schema", "OFF"), "ON")
    if schema_on and not maria and query_or_none(con, f"{CARRYING} LIMIT 0", 2) is None:
        useful.append(
            f"{account} cannot read the settings and statement counts of sessions. Run GRANT SELECT ON"
            f" performance_schema.* TO {account}"
        )
    return Rights(tuple(needed), tuple(useful))


def account_name(con: "Connection[Any]") -> str:
    """Return the account in the form used by GRANT, for example `'app'@'10.0.0.%'`."""
    rows = query_or_none(con, "SELECT CURRENT_USER()")
    user, _, host = printable(str(rows[0][0]) if rows else "?@?", 300).rpartition("@")
    return "'{}'@'{}'".format(user.replace("'", "''"), host.replace("'", "''"))


def _denied(con: "Connection[Any]", statement: str) -> bool:
    """Return whether the server refuses a statement because of a missing privilege."""
    try:
        with con.cursor() as cursor:
            cursor.execute(statement)
            cursor.fetchall()
    except pymysql.MySQLError as error:
        return bool(error.args) and error.args[0] in ACCESS_DENIED and bool(fault_text(error))
    return False


def _may_kill(facts: Facts) -> bool:
    """Return whether the grants allow the account to end sessions of other accounts. A role counts as such a grant."""
    may = facts.may
    return may is None or any(right.upper() in MAY_KILL or right.startswith("the role ") for right in may)


def _may_write(path: Path) -> bool:
    """Return whether a file and its missing folders can be created at this path."""
    folder = next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
