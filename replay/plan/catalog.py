# SPDX-License-Identifier: Apache-2.0
"""Finds the tables that a statement may touch, for the order of commits: rather too many than too few.

A table counts by its name, whatever its schema. Where a statement may touch more than it names (a view, a routine, a
trigger, a write that names no table) nothing is known: it waits for all.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import TargetError
from ...servers.target import fault_text

PART = re.compile(r"`[^`]*`|[^.`]+")
OWN = "('mysql', 'information_schema', 'performance_schema', 'sys')"


@dataclass(frozen=True)
class Catalog:
    """What the target has: `opaque` hides other tables behind it; `together`: tables joined by foreign keys.

    `numbering`: tables that generate ids; None = not asked.
    """

    opaque: frozenset[str] = frozenset()
    together: Mapping[str, str] = field(default_factory=dict)
    numbering: frozenset[str] | None = None


def read_catalog(con: "Connection[Any]") -> Catalog:
    """Return what the target has; what the account may not see is not there. Raises TargetError."""

    def names(sql: str) -> list[tuple[str, ...]]:
        try:
            with con.cursor() as cursor:
                cursor.execute(sql)
                return [tuple(str(value).lower() for value in row) for row in cursor.fetchall()]
        except (pymysql.Error, OSError) as error:
            raise TargetError(f"the target's tables can't be listed: {fault_text(error)}") from error

    where = f"NOT IN {OWN}"
    opaque = names(f"SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA {where}")
    opaque += names(f"SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA {where}")
    opaque += names(f"SELECT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA {where}")
    keys = names(
        "SELECT TABLE_NAME, REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS"
        f" WHERE CONSTRAINT_SCHEMA {where}"
    )
    numbering = names(
        "SELECT DISTINCT TABLE_NAME FROM information_schema.COLUMNS"
        f" WHERE TABLE_SCHEMA {where} AND EXTRA LIKE '%auto_increment%'"
    )
    return Catalog(
        frozenset(row[0] for row in opaque),
        join_pairs((row[0], row[-1]) for row in keys),
        frozenset(row[0] for row in numbering),
    )


def join_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return name -> the first name of its group, for names joined in pairs."""
    head: dict[str, str] = {}

    def find(name: str) -> str:
        while head.setdefault(name, name) != name:
            name = head[name]
        return name

    for a, b in pairs:
        low, high = sorted((find(a), find(b)))
        head[high] = low
    return {name: find(name) for name in list(head)}


def tables_of(
    tables: Iterable[str] | None, calls: Iterable[str], statement_class: str, snapshot: bool, catalog: Catalog
) -> frozenset[str] | None:
    """Return the tables that a statement may touch, from those that it names; None = it may be any.

    `snapshot`: it reads everything as of now.
    """
    if tables is None or snapshot:
        return None
    names = {bare(name) for name in tables}
    if (names | {bare(name) for name in calls}) & catalog.opaque:
        return None
    together = frozenset(catalog.together.get(name, name) for name in names)
    return together if together or statement_class in ("read", "session", "transaction") else None


def bare(name: str) -> str:
    """Return the last part of a name as digests have it, without its back quotes."""
    parts: list[str] = PART.findall(name)
    return parts[-1].strip("`").lower()
