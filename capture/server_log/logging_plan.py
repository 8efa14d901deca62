# SPDX-License-Identifier: Apache-2.0
"""Plan the recording of a server's log: how it is read, and which settings must change. Nothing is changed here."""

import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from ...common.errors import InputError, OptionError, RefusedError
from ...servers.facts import Facts
from ...servers.target import Target
from .notes import plan_notes
from .renewal import renewal_notes
from .restore_file import default_restore_file
from .settings import GLOBAL_CONTROL, HOLD, Change, plan_changes

METHODS = ("auto", "file", "table", "general")


@dataclass(frozen=True)
class RecordOptions:
    """Limits of a recording: `duration_s`; `max_disk` bytes of log; `max_rate` bytes a second during 5 s.

    `method`: one of METHODS. `restore_file`: None = one for each server, in the user's state folder. `say` is called
    once a second with how far it is. `enough`: set by another thread, it ends the recording. `begun`: set by the
    recording when the log is on. `renew_rate`: idle sessions of before that are ended in a second, at most.
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
    """What will be done: the method, the changes in order, our own log file (or None), notes of what is not logged."""

    facts: Facts
    method: str
    changes: tuple[Change, ...]
    log_file: Path | None
    notes: tuple[str, ...]
    restore_file: Path

    def lines(self) -> list[str]:
        """Return the plan for people, one change a line."""
        how = {"file": f"as file {self.log_file}", "table": "from mysql.slow_log", "general": "from mysql.general_log"}
        lines = [f"{self.facts.version} on {self.facts.hostname or '?'}; the log is read {how[self.method]}"]
        begin = [change for change in self.changes if change.role != HOLD]
        lines += [f"  SET GLOBAL {c.name} = {c.wanted!r}   (now {c.before!r})" for c in begin]
        lines += [] if begin else ["  nothing has to change: everything is logged already"]
        return lines + [f"  {note}" for note in self.notes]


def check_options(options: RecordOptions) -> None:
    """Raise InputError for a method that does not exist or a duration of nothing."""
    if options.method not in METHODS:
        raise OptionError(f"--read: expected one of {', '.join(METHODS)}, found {options.method!r}")
    if options.duration_s <= 0:
        raise OptionError("--duration: expected more than 0 s")
    if options.renew_rate and options.method == "general":
        raise InputError(
            "--renew-idle: not needed with --read general: that log has the sessions that were open before"
        )


def plan_logging(target: Target, facts: Facts, options: RecordOptions) -> LoggingPlan:
    """Choose how to read the log, and what to set for it. Raises RefusedError where --read asks for what cannot be."""
    method, log_file = options.method, None
    if method in ("auto", "file"):
        log_file = own_log(facts)
        if log_file is None and method == "file":
            raise RefusedError(
                "--read file: the server's log folder is not on this machine, or this user cannot read it: run it there"
                " as root or the server's own user, or read the log's table with --read table"
            )
        method = "file" if log_file is not None else "table"
    changes = plan_changes(facts.variables, method, str(log_file) if log_file else None)
    notes = plan_notes(facts, method, changes, log_file, options.max_disk)
    restore_file = options.restore_file or default_restore_file(server_identity(target, facts))
    return LoggingPlan(facts, method, changes, log_file, notes, restore_file)


def with_renewal(plan: LoggingPlan, con: "Connection[Any]", rate: float) -> LoggingPlan:
    """Return the plan with what --renew-idle will do."""
    notes = renewal_notes(con, rate, GLOBAL_CONTROL in plan.facts.variables)
    return replace(plan, notes=(*plan.notes, *notes))


def server_identity(target: Target, facts: Facts) -> str:
    """Return what tells the server from others: what it says of itself, else its address."""
    return facts.identity or target.name


def own_log(facts: Facts) -> Path | None:
    """Return the path of a new log next to the server's own, None where this process could not read it."""
    current = Path(facts.variables.get("slow_query_log_file", ""))
    folder = current.parent if current.is_absolute() else Path(facts.variables.get("datadir", "/nonexistent"))
    pid = Path(facts.variables.get("pid_file", ""))
    local = folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    if not local or not (pid.exists() or (folder / pid.name).exists() or current.exists()):
        return None
    if os.geteuid() != 0 and folder.stat().st_uid != os.geteuid():
        return None
    return folder / f"querytape-{secrets.token_hex(4)}.log"
