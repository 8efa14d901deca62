# SPDX-License-Identifier: Apache-2.0
"""Select events of a tape by account, schema, digest, class, session and time."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..common.duck import sql_text
from ..common.errors import OptionError
from ..common.units import utc_time
from .names import CLASSES

DIGEST = re.compile(r"[0-9a-f]{16}")
# Commands that set session state, in addition to SET, USE and temporary tables. They are kept if their session is kept.
STATE = ("prepare", "close_stmt", "init_db", "change_user", "reset_connection", "set_option")
# Commands of a session without lasting effect. Such commands from before the time range are omitted.
OF_SESSION = ("ping", "quit", "connect")


@dataclass(frozen=True)
class EventFilter:
    """Conditions on events. The values of one list are alternatives. An event must match all non-empty lists.

    `users` and `dbs` are names on the tape. `digests` have 16 hexadecimal digits. `classes` are names from
    names.CLASSES. `sessions` are numbers. `from_ns` and `to_ns` are nanoseconds since the epoch: `from_ns` is
    inclusive, `to_ns` is exclusive. Raises InputError if a class or digest is invalid or the time range is empty.
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
        """Whether the filter has a time range."""
        return self.from_ns is not None or self.to_ns is not None

    @property
    def by_session(self) -> bool:
        """Whether the filter excludes whole sessions."""
        return bool(self.users or self.sessions)

    @property
    def by_event(self) -> bool:
        """Whether the filter excludes single events of a session. It then needs the transactions of the tape."""
        return bool(self.dbs or self.digests or self.classes) or self.by_time

    def session_sql(self) -> str:
        """Return the SQL conditions on whole sessions, for the columns `user` and `session`."""
        parts = [among('"user"', self.users)] if self.users else []
        if self.sessions:
            parts.append(f"session IN ({', '.join(str(int(session)) for session in self.sessions)})")
        return " AND ".join(parts) or "true"

    def event_sql(self, prefix: str = "") -> str:
        """Return the SQL conditions on the event columns `db`, `digest` and `class`. The result is never NULL."""
        named = (("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        parts = [f"coalesce({among(prefix + name, values)}, false)" for name, values in named if values]
        return " AND ".join(parts) or "true"

    def time_sql(self, column: str = "start_ns") -> str:
        """Return the SQL condition on the time in `column`."""
        parts = [f"{column} >= {self.from_ns}"] if self.from_ns is not None else []
        parts += [f"{column} < {self.to_ns}"] if self.to_ns is not None else []
        return " AND ".join(parts) or "true"

    def wanted_sql(self) -> str:
        """Return a query for session and seq of the matching events in view `tape_events`.

        The transactions of these events are kept whole.
        """
        kinds = "class NOT IN ('transaction', 'session')"
        return f"SELECT session, seq FROM tape_events WHERE {kinds} AND {self.event_sql()}"

    def filtered_by_sql(self) -> str:
        """Return SQL for the name of the filter that excludes an event, or NULL.

        The SQL uses the columns of `event_selection.selection_sql`.
        """
        cases = self.exclusion_cases()
        return f"CASE {' '.join(cases)} END" if cases else "NULL"

    def exclusion_cases(self) -> list[str]:
        """Return the CASE branches of `filtered_by_sql`."""
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
        """Return the conditions as text, such as `user app, batch; class read; from 2026-11-20 09:00:00.000`."""
        named = (("user", self.users), ("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        parts = [f"{name} {', '.join(values)}" for name, values in named if values]
        parts += [f"session {', '.join(map(str, self.sessions))}"] if self.sessions else []
        parts += [f"from {utc_time(self.from_ns)}"] if self.from_ns is not None else []
        parts += [f"to {utc_time(self.to_ns)}"] if self.to_ns is not None else []
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return the non-empty conditions by name."""
        return {name: value for name, value in asdict(self).items() if value not in ((), None)}


def among(column: str, values: Iterable[str]) -> str:
    """Return an SQL condition that the column equals one of these texts."""
    return f"{column} IN ({', '.join(map(sql_text, values))})"


# SQL condition for events that set session state.
STATE_SQL = (
    f"({among('command', STATE)} OR coalesce(class = 'session', false) OR has_flag(flags, 'use') OR prepares"
    " OR has_action(actions, 'temporary_table'))"
)
