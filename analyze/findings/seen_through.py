# SPDX-License-Identifier: Apache-2.0
"""Find the tables and routines behind views and routines: those that their definitions name."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from ..database import AnalysisDatabase
from .causes import bare

FACTS = (
    "SELECT kind, lower(if(kind = 'routine', name, tbl)),"
    " if(json_valid(facts), coalesce(facts ->> '$.definition', facts ->> '$.does'), NULL)"
    " FROM schema_fact WHERE kind IN ('table', 'view', 'routine', 'trigger')"
)
_WRITTEN = re.compile(
    r"\b(?:(?:insert|replace)\b(?:\s+(?:low_priority|delayed|high_priority|ignore|into))*"
    r"|update\b(?:\s+(?:low_priority|ignore))*|delete\b(?:\s+(?:low_priority|quick|ignore))*\s+from"
    r"|truncate\b(?:\s+table)?)\s+(?:[\w$]+\s*\.\s*)?([\w$]+)"
)


@dataclass(frozen=True)
class Objects:
    """What both servers have, by bare name.

    `tables` has the views as well. `views`, `routines` and `triggers` (by table) have the words that define them.
    `written` has the tables that each routine writes itself.
    """

    tables: frozenset[str]
    views: Mapping[str, frozenset[str]]
    routines: Mapping[str, frozenset[str]]
    triggers: Mapping[str, frozenset[str]]
    written: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, database: AnalysisDatabase) -> Self:
        """Return those of both sides. The database has the view schema_fact."""
        found: dict[str, dict[str, frozenset[str]]] = {kind: {} for kind in ("table", "view", "routine", "trigger")}
        written = dict[str, frozenset[str]]()
        for kind, name, definition in database.con.execute(FACTS).fetchall():
            found[kind][name] = found[kind].get(name, frozenset()) | words_of(definition)
            if kind == "routine":
                written[name] = written.get(name, frozenset()) | written_by(definition)
        return cls(
            frozenset(found["table"] | found["view"]), found["view"], found["routine"], found["trigger"], written
        )

    def behind(self, words: Iterable[str]) -> frozenset[str]:
        """Return words, and all that is named by the views and routines among them."""
        known, new = set[str](), set(words)
        while new:
            known |= new
            named = (each[word] for word in new for each in (self.views, self.routines) if word in each)
            new = set().union(*named) - known
        return frozenset(known)

    def writes(self, definition: object) -> frozenset[str]:
        """Return the tables that a definition writes, by itself or through the routines that it calls."""
        called = self.behind(words_of(definition)) & self.routines.keys()
        return written_by(definition).union(*(self.written[name] for name in called)) & self.tables


def written_by(definition: object) -> frozenset[str]:
    """Return the names behind INSERT, UPDATE, DELETE and the like in a definition."""
    return frozenset(_WRITTEN.findall(str(definition or "").replace("`", "").lower()))


def words_of(definition: object) -> frozenset[str]:
    """Return the words of a definition in lower case."""
    return frozenset(re.findall(r"[\w$]+", str(definition or "").lower()))


def seen_through(
    database: AnalysisDatabase, tables: Mapping[str, frozenset[str]]
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Return the tables and the routines that each digest reaches, by itself or through views, routines and triggers.

    `tables`: those that it names. The database has the views schema_fact and tape_digest.
    """
    objects, reached, routines = Objects.of(database), dict(tables), dict[str, frozenset[str]]()
    if not objects.views and not objects.routines and not objects.triggers:
        return reached, routines
    rows = database.con.execute("SELECT digest, coalesce(calls, []), class FROM tape_digest").fetchall()
    for digest, calls, statement_class in rows:
        named = tables.get(digest, frozenset())
        fired = [objects.triggers.get(table, frozenset()) for table in named if statement_class == "write"]
        words = objects.behind(({bare(name) for name in calls} & objects.routines.keys()).union(named, *fired))
        if more := (words & objects.tables) | named:
            reached[digest] = more
        routines[digest] = words & objects.routines.keys()
    return reached, routines
