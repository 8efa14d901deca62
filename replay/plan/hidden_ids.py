# SPDX-License-Identifier: Apache-2.0
"""Finds statements that may make a trigger or routine insert into a table that generates ids: no source knows those."""

import re
from collections.abc import Iterable, Set

WORD = re.compile(r"[\w$]+")
REPLACE_FUNCTION = re.compile(r"\breplace\s*\(")
# Word of a statement -> the events of triggers that it may set off.
EVENTS = {
    "insert": ("insert",),
    "load": ("insert",),
    "replace": ("insert", "delete"),
    "update": ("update",),
    "delete": ("delete",),
}
DYNAMIC = frozenset({"prepare", "immediate"})  # in a routine: what it runs is text of its own


def may_set_off(text: str, names: Iterable[str], calls: Iterable[str]) -> frozenset[str]:
    """Return what a text may set off: `insert orders` for a trigger of a table, `call refresh` for a routine.

    `names`: tables it names; `calls`: routines. All in lower case.
    """
    words = set(WORD.findall(REPLACE_FUNCTION.sub("(", text)))
    events = {event for word, events in EVENTS.items() if word in words for event in events}
    return frozenset({f"{event} {name}" for event in events for name in names} | {f"call {name}" for name in calls})


def hidden_inserts(
    bodies: Iterable[tuple[str, str]], numbering: Set[str], views: Iterable[tuple[str, str]] = ()
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the triggers and routines that may insert where ids are generated, and the tables and views that do that.

    `bodies`: (`insert orders` or `call refresh`, text) of each trigger and routine; a text that the server does not
    show is empty, and may do anything. `views`: (name, text); such a text is empty as well. All in lower case.
    """
    tables, texts = set(numbering), list(views)
    while more := {n for n, text in texts if n not in tables and (not text or tables & set(WORD.findall(text)))}:
        tables |= more
    effects: dict[str, set[str]] = {}
    for key, text in bodies:
        words = WORD.findall(text)
        unknown = not text or not DYNAMIC.isdisjoint(words)
        effects.setdefault(key, set()).update({"anything"} if unknown else may_set_off(text, words, words))
    found, direct = set[str](), {"anything", *(f"insert {name}" for name in tables)}
    while more := {key for key, effect in effects.items() if key not in found and effect & (direct | found)}:
        found |= more
    return frozenset(found), frozenset(tables)
