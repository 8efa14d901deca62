# SPDX-License-Identifier: Apache-2.0
"""Which sessions and events are replayed. Whole sessions, and inside them whole transactions, are kept or left out."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..schemas import CLASSES, sql_text

# What makes a session's state: kept wherever the session is kept.
STATE = ("prepare", "close_stmt", "init_db", "change_user", "reset_connection", "set_option", "ping", "quit", "connect")
SAMPLE_STEPS = 1_000_000


@dataclass(frozen=True)
class Selection:
    """What to keep: lists are alternatives, all that are given must hold. Times in nanoseconds since 1970.

    `users`, `sessions`, `sample` (a share, the same sessions each time) and `max_sessions` choose sessions; `dbs`,
    `digests`, `classes`, `from_ns` (the first kept) and `to_ns` (the first not) choose events. `resume`: a run that was
    interrupted; only what it did not come to.
    """

    users: tuple[str, ...] = ()
    sessions: tuple[int, ...] = ()
    sample: Fraction | None = None
    max_sessions: int | None = None
    dbs: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    from_ns: int | None = None
    to_ns: int | None = None
    resume: Path | None = None

    def __post_init__(self) -> None:
        if wrong := [name for name in self.classes if name not in CLASSES]:
            raise InputError(f"--class: expected one of {', '.join(CLASSES)}, found {wrong[0]!r}")
        if wrong := [name for name in self.digests if len(name) != 16]:
            raise InputError(f"--digest: expected 16 hexadecimal digits, found {wrong[0]!r}")
        if self.from_ns is not None and self.to_ns is not None and self.from_ns >= self.to_ns:
            raise InputError("--to: expected a time after --from")

    @property
    def by_session(self) -> bool:
        """Whether some sessions are left out as a whole."""
        return bool(self.users or self.sessions) or self.sample is not None or self.max_sessions is not None

    @property
    def by_event(self) -> bool:
        """Whether events inside sessions are left out: then transactions must be known."""
        return bool(self.dbs or self.digests or self.classes or self.resume) or self.by_time

    @property
    def by_time(self) -> bool:
        """Whether only a stretch of the tape is wanted."""
        return self.from_ns is not None or self.to_ns is not None

    def session_sql(self) -> str:
        """Return a condition on the columns of a tape's `sessions`."""
        parts = []
        if self.users:
            parts.append(_among('"user"', self.users))
        if self.sessions:
            parts.append(f"session IN ({', '.join(str(int(session)) for session in self.sessions)})")
        if self.sample is not None:
            parts.append(f"{_place('session')} < {int(self.sample * SAMPLE_STEPS)}")
        return " AND ".join(parts) or "true"

    def sessions_sql(self, source: str) -> str:
        """Return a query of the chosen sessions: session, last_ns, events."""
        few = "" if self.max_sessions is None else f" ORDER BY {_place('session')}, session LIMIT {self.max_sessions}"
        return f"SELECT session, last_ns, events FROM {source} WHERE {self.session_sql()}{few}"

    def event_sql(self) -> str:
        """Return a condition on an event's own columns, time aside."""
        named = (("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        return " AND ".join(f"coalesce({_among(name, values)}, false)" for name, values in named if values) or "true"

    def time_sql(self, column: str) -> str:
        """Return a condition on a time."""
        parts = [f"{column} >= {self.from_ns}"] if self.from_ns is not None else []
        parts += [f"{column} < {self.to_ns}"] if self.to_ns is not None else []
        return " AND ".join(parts) or "true"

    def left_out_sql(self) -> str:
        """Return why an event is left out, or NULL, in terms of the columns of `window_chosen`."""
        state = f"({_among('command', STATE)} OR class = 'session' OR has_flag(flags, 'use'))"
        cases = []
        if self.by_session:
            cases.append("WHEN NOT is_chosen THEN 'filter:session'")
        if self.resume:
            cases.append(f"WHEN is_done AND NOT ({state} AND is_needed) THEN 'filter:resumed'")
        if self.by_time:
            early = "false" if self.from_ns is None else f"{state} AND tape_ns < {self.from_ns} AND is_needed"
            cases.append(f"WHEN NOT ({self.time_sql('coalesce(tx_start_ns, tape_ns)')} OR {early}) THEN 'filter:time'")
        if self.dbs or self.digests or self.classes:
            own = self.event_sql() + (" OR class = 'transaction'" if not self.classes else "")
            whole = f"CASE WHEN tx_seq IS NULL THEN {own} ELSE tx_chosen END"
            cases.append(f"WHEN NOT ({state} OR coalesce({whole}, false)) THEN 'filter:event'")
        return f"CASE {' '.join(cases)} END" if cases else "NULL"

    def as_json(self) -> dict[str, Any]:
        """Return what was asked for."""
        given = {name: value for name, value in asdict(self).items() if value not in ((), None)}
        texts = {name: str(given[name]) for name in ("sample", "resume") if name in given}
        return given | texts


def _place(column: str) -> str:
    """Return where a session stands among SAMPLE_STEPS, the same on every machine."""
    return f"(('0x' || substr(md5({column}::VARCHAR), 1, 12))::BIGINT % {SAMPLE_STEPS})"


def _among(column: str, values: Iterable[str]) -> str:
    return f"{column} IN ({', '.join(map(sql_text, values))})"
