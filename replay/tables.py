# SPDX-License-Identifier: Apache-2.0
"""Which tables a statement touches, for the order of commits: rather too many than too few.

Every word of the normalised statement that is a table's name on the target counts as that table, whatever its schema.
Where a statement may touch more than its words say (a view, a routine, a trigger) nothing is known: it waits for all.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymysql.connections import Connection

WORD = re.compile(r"`([^`]+)`|([^\W\d][\w$]*)")
CREATED = re.compile(
    r"\bcreate (?:or replace )?(?:temporary )?table (?:if not exists )?(?:[\w$`]+\s*\.\s*)?`?([\w$]+)`?"
)
OWN = "('mysql', 'information_schema', 'performance_schema', 'sys')"


@dataclass(frozen=True)
class Catalog:
    """The target's tables; `opaque`: what hides others behind it; `together`: tables joined by foreign keys."""

    tables: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    together: Mapping[str, str] = field(default_factory=dict)


def read_catalog(con: "Connection[Any]") -> Catalog:
    """Return what the target has; what the account may not see is not there."""

    def names(sql: str) -> list[tuple[str, ...]]:
        with con.cursor() as cursor:
            cursor.execute(sql)
            return [tuple(str(value).lower() for value in row) for row in cursor.fetchall()]

    where = f"NOT IN {OWN}"
    tables = names(f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA {where}")
    opaque = names(f"SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA {where}")
    opaque += names(f"SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA {where}")
    opaque += names(f"SELECT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA {where}")
    keys = names(
        "SELECT TABLE_NAME, REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS"
        f" WHERE CONSTRAINT_SCHEMA {where}"
    )
    return Catalog(
        frozenset(name for (name,) in tables),
        frozenset(name for (name,) in opaque),
        join_pairs((a, b) for a, b in keys),
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


def tables_of(normalized: str, statement_class: str, catalog: Catalog) -> frozenset[str] | None:
    """Return the tables that a normalised statement may touch; None = it may be any."""
    words = {(quoted or bare).lower() for quoted, bare in WORD.findall(normalized)}
    if words & catalog.opaque:
        return None
    if statement_class in ("session", "transaction"):
        return None if "consistent" in words else frozenset()
    found = frozenset(catalog.together.get(word, word) for word in words & catalog.tables)
    return found if found or statement_class == "read" else None


def created(normalized: Iterable[str]) -> frozenset[str]:
    """Return the names of tables that statements of the tape create."""
    return frozenset(name for text in normalized for name in CREATED.findall(text))
