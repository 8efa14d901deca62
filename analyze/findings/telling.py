# SPDX-License-Identifier: Apache-2.0
"""Rank variables and counters by what they tell about what changed; `telling.tsv` lists them, most telling first."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from ..database import Row
from ..verdicts.verdict import ERRORS, FASTER, SLOWER, UNSTABLE

TOPICS = ("answers", "optimizer", "durability", "memory", "limits")
READS = ("optimizer", "memory")  # what matters where reads changed their time
WRITES = ("durability",)
COUNTER_WEIGHT = 0.4  # a logarithm: half as many again


@dataclass(frozen=True)
class Telling:
    """A name of the list, with `*` for any characters. `above`: a difference stands above the answer."""

    kind: str
    topic: str
    name: str
    above: bool


@cache
def telling() -> tuple[Telling, ...]:
    """Return the list, in its order."""
    text = (files(__package__) / "telling.tsv").read_text(encoding="utf-8")
    rows = csv.reader((line for line in text.splitlines() if not line.startswith("#")), delimiter="\t")
    return tuple(Telling(kind, topic, name, above == "above") for kind, topic, name, above in rows)


def decisive() -> tuple[str, ...]:
    """Return the variables whose difference stands above the answer, most important first."""
    return tuple(each.name for each in telling() if each.above)


def is_telling(variable: str) -> bool:
    """Whether the list has the variable by its name."""
    return any(each.kind == "variable" and each.name == variable for each in telling())


def is_durability(variable: str) -> bool:
    """Whether writes and commits wait for what the variable says."""
    place = _place("variable", variable)
    return place is not None and place[1] == "durability"


@cache
def _place(kind: str, name: str) -> tuple[int, str] | None:
    """Return a name's place in the list and its topic, None where it is not in it. Counters' names have any case."""
    for number, each in enumerate(telling()):
        if each.kind == kind and fnmatchcase(name.lower(), each.name.lower()):
            return number, each.topic
    return None


def ordered_topics(digests: Iterable[Row], results_differ: bool) -> list[str]:
    """Return the topics, those first that may explain what changed."""
    first = {"answers"} if results_differ else set()
    for entry in digests:
        if entry["verdict"] == ERRORS:
            first.add("answers")
        if entry["verdict"] in (SLOWER, FASTER, UNSTABLE):
            first.update(READS if entry["class"] == "read" else WRITES)
    return sorted(TOPICS, key=lambda topic: topic not in first)


def rank_variables(rows: Iterable[Row], order: list[str]) -> list[Row]:
    """Return the variables with their `topic` (None = not in the list): those of the list in order, then the others."""
    found = [{**row, "topic": place[1] if (place := _place("variable", row["name"])) else None} for row in rows]

    def rank(row: Row) -> tuple[int, int]:
        place = _place("variable", row["name"])
        return (order.index(place[1]), place[0]) if place else (len(order), 0)

    return sorted(found, key=rank)


def rank_counters(rows: Iterable[Row], order: list[str]) -> list[Row]:
    """Return the counters with their `topic`: those that differ (COUNTER_WEIGHT) first, by topic and difference."""
    found = [{**row, "topic": place[1] if (place := _place("counter", row["name"])) else None} for row in rows]

    def rank(row: Row) -> tuple[bool, int, float]:
        topic = row["topic"]
        return abs(row["weight"]) < COUNTER_WEIGHT, order.index(topic) if topic else len(order), -abs(row["weight"])

    return sorted(found, key=rank)
