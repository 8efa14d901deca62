# SPDX-License-Identifier: Apache-2.0
"""Say which events of a tape are meant: by account, schema, digest, class, session and time."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..common.duck import sql_text
from ..common.errors import OptionError
from ..common.units import utc_time
from .names import CLASSES

DIGEST = re.compile(r"[0-9a-f]{16}")
# What makes a session's state, next to SET, USE and temporary tables: kept wherever the session is kept.
STATE = ("prepare", "close_stmt", "init_db", "change_user", "reset_connection", "set_option")
# What a session has, but not what came of it: of no use before a stretch of time.
OF_SESSION = ("ping", "quit", "connect")


@dataclass(frozen=True)
class EventFilter:
    """Conditions on events: each list gives alternatives, all lists that are not empty must hold.

    `users` and `dbs` are names as on the tape, `digests` 16 hexadecimal digits, `classes` of names.CLASSES, `sessions`
    numbers. Times are nanoseconds since the epoch: `from_ns` is the first kept, `to_ns` the first that is not.
    Raises InputError for a class or digest that cannot be, or a window without time.
    """

    users: tuple[str, ...] = ()
    dbs: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    sessions: tuple[int, ...] = ()
    from_ns: int | None = None
    to_ns: int | None = None

    def __post_init__(self) -> None:
        if wrong := [name for name in self.classes if name not in CLASSES]:
            raise OptionError(f"--class: expected one of {', '.join(CLASSES)}, found {wrong[0]!r}")
        if wrong := [name for name in self.digests if not DIGEST.fullmatch(name)]:
            raise OptionError(f"--digest: expected 16 hexadecimal digits, found {wrong[0]!r}")
        if self.from_ns is not None and self.to_ns is not None and self.from_ns >= self.to_ns:
            raise OptionError("--to: expected a time after --from")

    @property
    def by_time(self) -> bool:
        """Whether only a window of time is wanted."""
        return self.from_ns is not None or self.to_ns is not None

    @property
    def by_session(self) -> bool:
        """Whether some sessions are excluded as a whole."""
        return bool(self.users or self.sessions)

    @property
    def by_event(self) -> bool:
        """Whether events inside sessions are excluded: then transactions must be known."""
        return bool(self.dbs or self.digests or self.classes) or self.by_time

    def session_sql(self) -> str:
        """Return the conditions that hold for whole sessions, on columns `user` and `session`."""
        parts = [among('"user"', self.users)] if self.users else []
        if self.sessions:
            parts.append(f"session IN ({', '.join(str(int(session)) for session in self.sessions)})")
        return " AND ".join(parts) or "true"

    def event_sql(self, prefix: str = "") -> str:
        """Return the conditions on an event's own columns `db`, `digest` and `class`; never NULL."""
        named = (("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        parts = [f"coalesce({among(prefix + name, values)}, false)" for name, values in named if values]
        return " AND ".join(parts) or "true"

    def time_sql(self, column: str = "start_ns") -> str:
        """Return the condition on a time."""
        parts = [f"{column} >= {self.from_ns}"] if self.from_ns is not None else []
        parts += [f"{column} < {self.to_ns}"] if self.to_ns is not None else []
        return " AND ".join(parts) or "true"

    def wanted_sql(self) -> str:
        """Return a query of what is asked for among view tape_events: session, seq. Its transactions are kept whole."""
        kinds = "class NOT IN ('transaction', 'session')"
        return f"SELECT session, seq FROM tape_events WHERE {kinds} AND {self.event_sql()}"

    def filtered_by_sql(self) -> str:
        """Return which filter excludes an event, or NULL, in terms of what `event_selection.selection_sql` knows."""
        cases = self.exclusion_cases()
        return f"CASE {' '.join(cases)} END" if cases else "NULL"

    def exclusion_cases(self) -> list[str]:
        """Return the cases of `filtered_by_sql`."""
        cases = ["WHEN NOT is_selected THEN 'filter:session'"] if self.by_session else []
        if self.by_time:
            early = "false" if self.from_ns is None else f"{STATE_SQL} AND is_before AND is_needed"
            cases.append(f"WHEN NOT ({self.time_sql('coalesce(tx_start_ns, own_ns)')} OR {early}) THEN 'filter:time'")
        if self.dbs or self.digests or self.classes:
            own = self.event_sql("own_") + (" OR class = 'transaction'" if not self.classes else "")
            whole = f"CASE WHEN tx_seq IS NULL THEN {own} ELSE tx_selected END"
            state = f"{STATE_SQL} OR {among('command', OF_SESSION)}"
            cases.append(f"WHEN NOT ({state} OR coalesce({whole}, false)) THEN 'filter:event'")
        return cases

    def sentence(self) -> str:
        """Return the conditions for people: `user app, batch; class read; from 2026-11-20 09:00:00.000`."""
        named = (("user", self.users), ("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        parts = [f"{name} {', '.join(values)}" for name, values in named if values]
        parts += [f"session {', '.join(map(str, self.sessions))}"] if self.sessions else []
        parts += [f"from {utc_time(self.from_ns)}"] if self.from_ns is not None else []
        parts += [f"to {utc_time(self.to_ns)}"] if self.to_ns is not None else []
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return the conditions that were given, by name."""
        return {name: value for name, value in asdict(self).items() if value not in ((), None)}


def among(column: str, values: Iterable[str]) -> str:
    """Return the SQL condition that a column is one of these texts."""
    return f"{column} IN ({', '.join(map(sql_text, values))})"


# Whether an event makes its session's state.
STATE_SQL = (
    f"({among('command', STATE)} OR coalesce(class = 'session', false) OR has_flag(flags, 'use') OR prepares"
    " OR has_action(actions, 'temporary_table'))"
)
