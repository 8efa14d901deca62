# SPDX-License-Identifier: Apache-2.0
"""Selects what is replayed: whole sessions, and inside them whole transactions, are kept or excluded."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...schemas import EventFilter
from ...schemas.event_filter import STATE_SQL

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
        return super().by_session or self.sample is not None or self.max_sessions is not None

    @property
    def by_event(self) -> bool:
        """Whether events inside sessions are excluded: then transactions must be known."""
        return super().by_event or self.resume is not None

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
        return [done, *super().exclusion_cases()] if self.resume else super().exclusion_cases()

    def as_json(self) -> dict[str, Any]:
        """Return what was asked for."""
        values = super().as_json()
        return values | {name: str(values[name]) for name in ("sample", "resume") if name in values}


def _sample_rank(column: str) -> str:
    """Return a session's rank among SAMPLE_STEPS, the same on every machine."""
    return f"(('0x' || substr(md5({column}::VARCHAR), 1, 12))::BIGINT % {SAMPLE_STEPS})"
