# SPDX-License-Identifier: Apache-2.0
"""Functions loaded from libraries (CREATE FUNCTION ... SONAME), and the routines and views that call them.

Such functions are not bound to a session, so a read-only mode does not restrict them. Source: MySQL 8.4 manual, section
15.7.4.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from .queries import OWN_SCHEMAS, query_or_none

# Queries for the names of library functions. The second query is used if the account may not read the table mysql.func.
# This query needs MySQL 8.0 or later.
NAMES = (
    "SELECT name FROM mysql.func",
    "SELECT UDF_NAME FROM performance_schema.user_defined_functions WHERE UDF_LIBRARY IS NOT NULL",
)
# Query for schema, name and text of routines and views. The text is empty if the account may not see it.
STORED = (
    "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES",
    "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS",
)
NAME_CHARACTER = r"[\w$\u0080-\uffff]"


@dataclass(frozen=True)
class LibraryFunctions:
    """Names that a read must not use. `names`: library functions; None means that the account may not list them.

    `callers`: views and routines that call a library function or another caller. Views and routines with a hidden text
    count as callers if the server has library functions.
    """

    names: tuple[str, ...] | None = ()
    callers: tuple[str, ...] = ()

    def named_by(self, tables: Iterable[str], calls: Iterable[str]) -> str | None:
        """Return a library function or caller that a statement names. Return None if the statement names none.

        All names are without their schema.
        """
        called = {name.lower() for name in calls}
        named = called | {name.lower() for name in tables}
        found = called & {name.lower() for name in self.names or ()} or named & {name.lower() for name in self.callers}
        return min(found, default=None)

    def refused(self) -> str | None:
        """Return the names in the engine's format: one per line.

        A space before a name marks a name that must not appear at all.
        """
        return "\n".join((*(self.names or ()), *(f" {name}" for name in self.callers))) or None

    def __or__(self, other: "LibraryFunctions") -> "LibraryFunctions":
        """Return the combined names of two servers.

        If the names of one server are unknown, use only the names of the other.
        """
        known = [each.names for each in (self, other) if each.names is not None]
        names = _each(name for each in known for name in each) if known else None
        return LibraryFunctions(names, _each(self.callers + other.callers))


def library_functions(con: "Connection[Any]") -> LibraryFunctions:
    """Query the library functions of a server and their callers. Raises TargetError if the connection is lost."""
    for query in NAMES:
        rows = query_or_none(con, query)
        if rows is not None:
            names = _each(_text(row[0]) for row in rows)
            return LibraryFunctions(names, _callers(con, names) if names else ())
    return LibraryFunctions(None)


def _callers(con: "Connection[Any]", names: tuple[str, ...]) -> tuple[str, ...]:
    stored = [
        (_text(name), _text(text))
        for query in STORED
        for schema, name, text in query_or_none(con, query, 3) or ()
        if _text(schema).lower() not in OWN_SCHEMAS
    ]
    found = {name for name, text in stored if not text}
    looked_for = [_pattern(name) for name in (*names, *found)]
    while looked_for:
        more = {name for name, text in stored if name not in found and any(each.search(text) for each in looked_for)}
        looked_for = [_pattern(name) for name in more]
        found |= more
    return _each(found)


def _pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that finds a name anywhere in a text. If a match is false, a statement is merely not sent."""
    return re.compile(f"(?<!{NAME_CHARACTER}){re.escape(name)}(?!{NAME_CHARACTER})", re.IGNORECASE)


def _each(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name and "\n" not in name}))


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)
