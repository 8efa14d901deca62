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
from .hidden_ids import hidden_inserts
from .overrides import STEPS, id_steps

PART = re.compile(r"`[^`]*`|[^.`]+")
OWN = "('mysql', 'information_schema', 'performance_schema', 'sys')"


@dataclass(frozen=True)
class Catalog:
    """What the target has: `opaque` hides other tables behind it; `together`: tables joined by foreign keys.

    `numbering`: tables and views that generate ids; None = not asked. `hidden`: triggers and routines that may insert
    into those (hidden_ids.py). `steps`: the target's increment and offset of ids; None = not known.
    """

    opaque: frozenset[str] = frozenset()
    together: Mapping[str, str] = field(default_factory=dict)
    numbering: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()
    steps: tuple[int, int] | None = None


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
    views = names(f"SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA {where}")
    routines = names(
        "SELECT ROUTINE_NAME, COALESCE(ROUTINE_DEFINITION, '') FROM information_schema.ROUTINES"
        f" WHERE ROUTINE_SCHEMA {where}"
    )
    triggers = names(
        "SELECT EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_STATEMENT FROM information_schema.TRIGGERS"
        f" WHERE TRIGGER_SCHEMA {where}"
    )
    keys = names(
        "SELECT TABLE_NAME, REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS"
        f" WHERE CONSTRAINT_SCHEMA {where}"
    )
    numbering = names(
        "SELECT DISTINCT TABLE_NAME FROM information_schema.COLUMNS"
        f" WHERE TABLE_SCHEMA {where} AND EXTRA LIKE '%auto_increment%'"
    )
    bodies = [(f"call {name}", text) for name, text in routines]
    bodies += [(f"{event} {table}", text) for table, event, text in triggers]
    hidden, generating = hidden_inserts(bodies, {row[0] for row in numbering}, [(row[0], row[1]) for row in views])
    steps = names(f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in STEPS)}")
    return Catalog(
        frozenset(row[0] for row in (*views, *routines, *triggers)),
        join_pairs((row[0], row[-1]) for row in keys),
        generating,
        hidden,
        id_steps(dict(zip(STEPS, steps[0], strict=True)) if steps else None),
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
