# SPDX-License-Identifier: Apache-2.0
"""Select the events to replay. Whole sessions, and whole transactions inside them, are kept or excluded."""

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
    """The sessions and events of a tape that are replayed.

    - `users`, `sessions`, `sample` and `max_sessions` select sessions. `sample` is a fraction of the sessions. The same
      fraction always selects the same sessions.
    - `dbs`, `digests`, `classes`, `from_ns` and `to_ns` select events.
    - `resume`: an interrupted run. Only its unsent events are replayed.
    - `failed_in`: a run. Only its failed events are replayed.
    - `slower_in`: a report. Only events with digests that got slower are replayed.

    Transactions and session state that failed or slower events need are also replayed (send_again.py).
    """

    sample: Fraction | None = None
    max_sessions: int | None = None
    resume: Path | None = None
    failed_in: Path | None = None
    slower_in: Path | None = None

    @property
    def picks(self) -> bool:
        """Whether an earlier run or report determines the replayed events."""
        return self.failed_in is not None or self.slower_in is not None

    @property
    def by_session(self) -> bool:
        """Whether some sessions are excluded entirely."""
        return super().by_session or self.sample is not None or self.max_sessions is not None

    @property
    def by_event(self) -> bool:
        """Whether events inside sessions are excluded. Transactions must then be known."""
        return super().by_event or self.resume is not None or self.picks

    def wanted_sql(self) -> str:
        """Return a query of the wanted events.

        The query includes COMMITs and SETs that an earlier run or report marks for sending again.
        """
        if not self.picks:
            return super().wanted_sql()
        return f"SELECT session, seq FROM tape_events SEMI JOIN picked USING (session, seq) WHERE {self.event_sql()}"

    def session_sql(self) -> str:
        """Return an SQL condition on the columns of a tape's `sessions`."""
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
        """Return the SQL CASE branches that exclude events, for `filtered_by_sql`.

        The branches also exclude events that an interrupted run has already sent.
        """
        done = f"WHEN is_done AND NOT ({STATE_SQL} AND is_needed) THEN 'filter:resumed'"
        return [*([done] if self.resume else []), *self._unpicked_cases(), *super().exclusion_cases()]

    def _unpicked_cases(self) -> list[str]:
        """Return the SQL CASE branch that excludes events that are not marked for sending again.

        Transactions and session state that the marked events need are kept.
        """
        if not self.picks:
            return []
        reason = "filter:failed_in" if self.failed_in else "filter:slower_in"
        own = "CASE WHEN tx_seq IS NULL THEN is_picked OR (command = 'quit' AND is_visited) ELSE tx_selected END"
        return [f"WHEN NOT coalesce({own} OR ({STATE_SQL} AND is_led), false) THEN '{reason}'"]

    def as_json(self) -> dict[str, Any]:
        """Return the selection as fields of run.json."""
        values = super().as_json()
        return values | {name: str(values[name]) for name in PATHS_AND_SHARES if name in values}


def _sample_rank(column: str) -> str:
    """Return an SQL expression for a session's rank among SAMPLE_STEPS. The rank is the same on every machine."""
    return f"(('0x' || substr(md5({column}::VARCHAR), 1, 12))::BIGINT % {SAMPLE_STEPS})"
