# SPDX-License-Identifier: Apache-2.0
"""Say which events of a tape are meant: by account, schema, digest, class, session and time."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..common.duck import sql_text
from ..common.errors import InputError
from ..common.units import utc_time
from .codes import CLASSES

DIGEST = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class EventFilter:
    """Conditions on events: each list gives alternatives, all lists that are not empty must hold.

    `users` and `dbs` are names as on the tape, `digests` 16 hexadecimal digits, `classes` of codes.CLASSES, `sessions`
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
            raise InputError(f"--class: expected one of {', '.join(CLASSES)}, found {wrong[0]!r}")
        if wrong := [name for name in self.digests if not DIGEST.fullmatch(name)]:
            raise InputError(f"--digest: expected 16 hexadecimal digits, found {wrong[0]!r}")
        if self.from_ns is not None and self.to_ns is not None and self.from_ns >= self.to_ns:
            raise InputError("--to: expected a time after --from")

    @property
    def by_time(self) -> bool:
        """Whether only a window of time is wanted."""
        return self.from_ns is not None or self.to_ns is not None

    def session_sql(self) -> str:
        """Return the conditions that hold for whole sessions, on columns `user` and `session`."""
        parts = [among('"user"', self.users)] if self.users else []
        if self.sessions:
            parts.append(f"session IN ({', '.join(str(int(session)) for session in self.sessions)})")
        return " AND ".join(parts) or "true"

    def event_sql(self) -> str:
        """Return the conditions on an event's own columns `db`, `digest` and `class`; never NULL."""
        named = (("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        return " AND ".join(f"coalesce({among(name, values)}, false)" for name, values in named if values) or "true"

    def time_sql(self, column: str = "start_ns") -> str:
        """Return the condition on a time."""
        parts = [f"{column} >= {self.from_ns}"] if self.from_ns is not None else []
        parts += [f"{column} < {self.to_ns}"] if self.to_ns is not None else []
        return " AND ".join(parts) or "true"

    def sql(self) -> str:
        """Return all conditions on the columns of a tape's events; `true` where there is none."""
        parts = [part for part in (self.session_sql(), self.event_sql(), self.time_sql()) if part != "true"]
        return " AND ".join(parts) or "true"

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
