# SPDX-License-Identifier: Apache-2.0
"""Selects what is replayed: whole sessions, and inside them whole transactions, are kept or excluded."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...schemas import EventFilter
from ...schemas.event_filter import STATE_SQL

SAMPLE_STEPS = 1_000_000
PATHS_AND_SHARES = ("sample", "resume", "failed_in", "slower_in")


@dataclass(frozen=True)
class Selection(EventFilter):
    """Which sessions and events of a tape are replayed.

    `users`, `sessions`, `sample` (a share, the same sessions each time) and `max_sessions` select sessions; `dbs`,
    `digests`, `classes`, `from_ns` and `to_ns` select events. `resume`: a run that was interrupted; only what it did
    not send is replayed. `failed_in`, `slower_in`: a run and a report; only what failed in the one, or has a digest
    that the other calls slower, is replayed, with transactions and session state (picks.py).
    """

    sample: Fraction | None = None
    max_sessions: int | None = None
    resume: Path | None = None
    failed_in: Path | None = None
    slower_in: Path | None = None

    @property
    def picks(self) -> bool:
        """Whether an earlier run or report says which events are replayed."""
        return self.failed_in is not None or self.slower_in is not None

    @property
    def by_session(self) -> bool:
        """Whether some sessions are excluded as a whole."""
        return super().by_session or self.sample is not None or self.max_sessions is not None

    @property
    def by_event(self) -> bool:
        """Whether events inside sessions are excluded: then transactions must be known."""
        return super().by_event or self.resume is not None or self.picks

    def wanted_sql(self) -> str:
        """Return a query of what is asked for: of what is picked, where anything is, also COMMITs and SETs."""
        if not self.picks:
            return super().wanted_sql()
        return f"SELECT session, seq FROM tape_events SEMI JOIN picked USING (session, seq) WHERE {self.event_sql()}"

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

    def exclusion_cases(self) -> list[str]:
        """Return the cases of `filtered_by_sql`: what an interrupted run has done is not done again."""
        done = f"WHEN is_done AND NOT ({STATE_SQL} AND is_needed) THEN 'filter:resumed'"
        return [*([done] if self.resume else []), *self._unpicked_cases(), *super().exclusion_cases()]

    def _unpicked_cases(self) -> list[str]:
        """Return the case of what is neither picked nor of a picked transaction, nor state that they need."""
        if not self.picks:
            return []
        reason = "filter:failed_in" if self.failed_in else "filter:slower_in"
        own = "CASE WHEN tx_seq IS NULL THEN is_picked OR (command = 'quit' AND is_visited) ELSE tx_selected END"
        return [f"WHEN NOT coalesce({own} OR ({STATE_SQL} AND is_led), false) THEN '{reason}'"]

    def as_json(self) -> dict[str, Any]:
        """Return what was asked for."""
        values = super().as_json()
        return values | {name: str(values[name]) for name in PATHS_AND_SHARES if name in values}


def _sample_rank(column: str) -> str:
    """Return a session's rank among SAMPLE_STEPS, the same on every machine."""
    return f"(('0x' || substr(md5({column}::VARCHAR), 1, 12))::BIGINT % {SAMPLE_STEPS})"
