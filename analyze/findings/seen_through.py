# SPDX-License-Identifier: Apache-2.0
"""Find the tables and routines behind views and routines: those that their definitions name."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from ..database import AnalysisDatabase

FACTS = (
    "SELECT kind, lower(if(kind = 'routine', name, tbl)),"
    " if(json_valid(facts), coalesce(facts ->> '$.definition', facts ->> '$.does'), NULL)"
    " FROM schema_fact WHERE kind IN ('table', 'view', 'routine')"
)
_CALLED = re.compile(r"([\w$]+)\s*\(|\bcall\s+(?:[\w$]+\s*\.\s*)?([\w$]+)")


@dataclass(frozen=True)
class Objects:
    """What both servers have, by bare name: tables and views; the words that define each view and each routine."""

    tables: frozenset[str]
    views: Mapping[str, frozenset[str]]
    routines: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, database: AnalysisDatabase) -> Self:
        """Return those of both sides. The database has the view schema_fact."""
        found: dict[str, dict[str, frozenset[str]]] = {"table": {}, "view": {}, "routine": {}}
        for kind, name, definition in database.con.execute(FACTS).fetchall():
            found[kind][name] = found[kind].get(name, frozenset()) | words_of(definition)
        return cls(frozenset(found["table"] | found["view"]), found["view"], found["routine"])

    def behind(self, words: Iterable[str]) -> frozenset[str]:
        """Return words, and all that is named by the views and routines among them."""
        known, new = set[str](), set(words)
        while new:
            known |= new
            named = (each[word] for word in new for each in (self.views, self.routines) if word in each)
            new = set().union(*named) - known
        return frozenset(known)


def words_of(definition: object) -> frozenset[str]:
    """Return the words of a definition in lower case."""
    return frozenset(re.findall(r"[\w$]+", str(definition or "").lower()))


def seen_through(
    database: AnalysisDatabase, tables: Mapping[str, frozenset[str]]
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Return the tables and the routines that each digest reaches, by itself or through views and routines.

    `tables`: those that it names. The database has the views schema_fact and tape_digest.
    """
    objects, reached, routines = Objects.of(database), dict(tables), dict[str, frozenset[str]]()
    if not objects.views and not objects.routines:
        return reached, routines
    for digest, text in database.con.execute("SELECT digest, normalized FROM tape_digest").fetchall():
        named = tables.get(digest, frozenset())
        words = objects.behind(named | (called(text) & objects.routines.keys()))
        if more := (words & objects.tables) | named:
            reached[digest] = more
        routines[digest] = words & objects.routines.keys()
    return reached, routines


def called(text: str | None) -> frozenset[str]:
    """Return what a normalised statement may call: names before a bracket, and behind CALL."""
    found = _CALLED.findall((text or "").replace("`", "").lower())
    return frozenset(name for names in found for name in names if name)
