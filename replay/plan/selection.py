# SPDX-License-Identifier: Apache-2.0
"""Selects what is replayed: whole sessions, and inside them whole transactions, are kept or excluded."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...schemas import EventFilter
from ...schemas.event_filter import among

# What makes a session's state: kept wherever the session is kept. So are its temporary tables.
STATE = ("prepare", "close_stmt", "init_db", "change_user", "reset_connection", "set_option", "ping", "quit", "connect")
SAMPLE_STEPS = 1_000_000


@dataclass(frozen=True)
class Selection(EventFilter):
    """Which sessions and events of a tape are replayed.

    `users`, `sessions`, `sample` (a share, the same sessions each time) and `max_sessions` select sessions; `dbs`,
    `digests`, `classes`, `from_ns` and `to_ns` select events. `resume`: a run that was interrupted; only what it did
    not send is replayed.
    """

    sample: Fraction | None = None
    max_sessions: int | None = None
    resume: Path | None = None

    @property
    def by_session(self) -> bool:
        """Whether some sessions are excluded as a whole."""
        return bool(self.users or self.sessions) or self.sample is not None or self.max_sessions is not None

    @property
    def by_event(self) -> bool:
        """Whether events inside sessions are excluded: then transactions must be known."""
        return bool(self.dbs or self.digests or self.classes or self.resume) or self.by_time

    def session_sql(self) -> str:
        """Return a condition on the columns of a tape's `sessions`."""
        if self.sample is None:
            return super().session_sql()
        return f"{super().session_sql()} AND {_sample_rank('session')} < {int(self.sample * SAMPLE_STEPS)}"

    def sessions_sql(self, source: str) -> str:
        """Return a query of the selected sessions: session, last_ns, events."""
        limit = (
            ""
            if self.max_sessions is None
            else f" ORDER BY {_sample_rank('session')}, session LIMIT {self.max_sessions}"
        )
        return f"SELECT session, last_ns, events FROM {source} WHERE {self.session_sql()}{limit}"

    def filtered_by_sql(self) -> str:
        """Return which filter excludes an event, or NULL, in terms of the columns of `window_selected`."""
        state = f"({among('command', STATE)} OR class = 'session' OR has_flag(flags, 'use')"
        state += " OR has_action(actions, 'temporary_table'))"
        cases = []
        if self.by_session:
            cases.append("WHEN NOT is_selected THEN 'filter:session'")
        if self.resume:
            cases.append(f"WHEN is_done AND NOT ({state} AND is_needed) THEN 'filter:resumed'")
        if self.by_time:
            early = "false" if self.from_ns is None else f"{state} AND tape_ns < {self.from_ns} AND is_needed"
            cases.append(f"WHEN NOT ({self.time_sql('coalesce(tx_start_ns, tape_ns)')} OR {early}) THEN 'filter:time'")
        if self.dbs or self.digests or self.classes:
            own = self.event_sql() + (" OR class = 'transaction'" if not self.classes else "")
            whole = f"CASE WHEN tx_seq IS NULL THEN {own} ELSE tx_selected END"
            cases.append(f"WHEN NOT ({state} OR coalesce({whole}, false)) THEN 'filter:event'")
        return f"CASE {' '.join(cases)} END" if cases else "NULL"

    def as_json(self) -> dict[str, Any]:
        """Return what was asked for."""
        values = super().as_json()
        return values | {name: str(values[name]) for name in ("sample", "resume") if name in values}


def _sample_rank(column: str) -> str:
    """Return a session's rank among SAMPLE_STEPS, the same on every machine."""
    return f"(('0x' || substr(md5({column}::VARCHAR), 1, 12))::BIGINT % {SAMPLE_STEPS})"
