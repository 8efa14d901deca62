# SPDX-License-Identifier: Apache-2.0
"""Read the table of causes (`causes.tsv`), and rank variables and counters by it.

The table lists which server difference explains which symptom.
"""

import csv
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from math import inf
from typing import NamedTuple

from .model import DigestEntry, RankedCounter, ServerDifference, Variable
from .rows import CountersRow
from .verdicts.verdict import ERRORS, FASTER, SLOWER, UNSTABLE

TOPICS = ("answers", "optimizer", "durability", "memory", "limits")
READS = ("optimizer", "memory")  # topics that matter when the times of reads differ
WRITES = ("durability",)
COUNTER_WEIGHT = 0.4  # difference of logarithms; 0.4 means about 1.5 times
AS_A = "make B match A"


class Line(NamedTuple):
    """A line of the table of causes. The comments in `causes.tsv` describe the columns.

    `above`: whether differences of the line's setting are shown above the answer.
    """

    symptoms: tuple[str, ...]
    by: tuple[str, ...]
    where: tuple[str, ...]
    topic: str
    above: bool
    cause: str
    remedy: str

    @property
    def errnos(self) -> frozenset[int]:
        """The error numbers that this line lists."""
        return frozenset(int(symptom) for symptom in self.symptoms if symptom.isdigit())

    def names(self, difference: ServerDifference) -> bool:
        """Return whether the line lists this difference.

        If no line lists a differing field, only the kind of its object is compared.
        """
        if difference.kind == "setting":
            return any(_names_setting(token, difference) for token in self.by)
        exact = f"{difference.kind}.{difference.fact}" if difference.fact else difference.kind
        return (exact if self.errnos or exact in _facts() else difference.kind) in self.by

    def decides(self, difference: ServerDifference, text: str, message: str | None) -> bool:
        """Return whether a named difference can cause an error of a statement with this text and message.

        Only differences of settings are checked against `where`. If the message is unknown, the message is not checked.
        """
        if difference.kind != "setting":
            return True
        for where in self.where:
            subject, mark, pattern = where.partition("~")
            said = message if subject == "message " else text
            if mark and said and not re.search(pattern, said, re.I | re.S):
                return False
        return True


@cache
def lines() -> tuple[Line, ...]:
    """Return all lines of the table of causes in their order."""
    text = (files(__package__) / "causes.tsv").read_text(encoding="utf-8")
    kept = (line for line in text.splitlines() if not line.startswith("#"))
    rows = csv.DictReader(kept, delimiter="\t", quoting=csv.QUOTE_NONE)
    return tuple(_line({name: "" if cell == "-" else cell for name, cell in row.items()}) for row in rows)


def _line(row: dict[str, str]) -> Line:
    topic, _, above = row["topic"].partition(" ")
    where = tuple(filter(None, row["where"].split(" & ")))
    return Line(
        tuple(row["symptom"].split()), tuple(row["by"].split()), where, topic, bool(above), row["cause"], row["remedy"]
    )


def lines_of(symptom: str) -> tuple[Line, ...]:
    """Return the lines of the table of causes that list a symptom."""
    return tuple(line for line in lines() if symptom in line.symptoms)


@cache
def of_error(errno: int | None) -> Line | None:
    """Return the first line of the table of causes that lists an error number."""
    return next((line for line in lines() if errno in line.errnos), None)


@cache
def errnos_by(*names: str) -> frozenset[int]:
    """Return the error numbers that one of these settings or schema fields may explain."""
    return frozenset().union(*(line.errnos for line in lines() if set(names) & set(line.by)))


@cache
def gone_modes() -> frozenset[str]:
    """Return the SQL modes that a release removed.

    A server without such a mode behaves as if the mode were always set.
    """
    return frozenset(mode for line in lines_of("gone") for by in line.by for mode in by.partition(":")[2].split(","))


def lines_by(difference: ServerDifference) -> list[Line]:
    """Return the lines of the table of causes that list a difference."""
    return [line for line in lines() if line.names(difference)]


@cache
def _facts() -> frozenset[str]:
    return frozenset(by for line in lines() if not line.errnos for by in line.by)


def _names_setting(token: str, difference: ServerDifference) -> bool:
    """Return whether a token of `by` names the difference's setting.

    If the token also lists parts, at least one of these parts must differ.
    """
    name, _, parts = token.partition(":")
    if not fnmatchcase(difference.name, name):
        return False
    if not parts or difference.a is None or difference.b is None:
        return True
    if parts in ("<", "<0"):
        return _limit(difference.b, parts) < _limit(difference.a, parts)
    other = set(difference.a.split(",")) ^ set(difference.b.split(","))
    return any(fnmatchcase(mode, part) for mode in other for part in parts.split(","))


def _limit(value: str, parts: str) -> float:
    """Return a limit as a number, or -inf if the value is not a number.

    If `parts` is `<0`, the value 0 means no limit and becomes inf.
    """
    try:
        number = float(value)
    except ValueError:
        return -inf
    return inf if parts == "<0" and number == 0 else number


def remedy_of(difference: ServerDifference) -> str:
    """Return the remedy that makes side B like side A. The remedy is a statement if one exists."""
    said = next((line.remedy for line in lines_by(difference) if line.remedy and not line.errnos), "")
    if said:
        name = difference.object
        known = {"{table}": difference.table, "{name}": name, "{part}": name.rpartition(".")[2]}
        return re.sub(r"\{\w+\}", lambda found: known[found[0]], said)
    if difference.kind != "setting" or difference.a is None:
        return AS_A
    name, value = difference.name, _settable(difference)
    if any(difference.name in line.by for line in lines_of("start")):
        return f"start B with {name} = {value}"
    return f"SET GLOBAL {difference.old_name or name} = {value} on B"


def _settable(difference: ServerDifference) -> str:
    """Return A's value in a form that SET accepts on B. Modes and switches that only A has are left out."""
    a, b = difference.a or "", (difference.b or "").split(",")
    if difference.name == "sql_mode":
        a = ",".join(mode for mode in a.split(",") if mode not in gone_modes() or mode in b)
    elif difference.name == "optimizer_switch":
        known = {flag.partition("=")[0] for flag in b}
        a = ",".join(flag for flag in a.split(",") if flag not in b and flag.partition("=")[0] in known)
    number = a.removeprefix("-").replace(".", "", 1)
    return a if number.isdigit() or a in ("ON", "OFF") else f"'{a}'"


def is_above(variable: str) -> bool:
    """Return whether a difference of the variable is shown above the answer."""
    place = place_of("variable", variable)
    return place is not None and lines()[place[0]].above


def is_telling(variable: str) -> bool:
    """Return whether the table of causes lists the variable by its name."""
    return any(line.topic and variable in (by.partition(":")[0] for by in line.by) for line in lines())


@cache
def place_of(kind: str, name: str) -> tuple[int, int, str] | None:
    """Return (line, place in the line, topic) of a variable or counter, or None if the table does not list it.

    The case of letters is ignored in the names of counters.
    """
    for number, line in enumerate(lines()):
        if line.topic and ("counter" in line.symptoms) == (kind == "counter"):
            for place, token in enumerate(line.by):
                if fnmatchcase(name.lower(), token.partition(":")[0].lower()):
                    return number, place, line.topic
    return None


def ordered_topics(digests: Iterable[DigestEntry], results_differ: bool) -> list[str]:
    """Return all topics. Topics that may explain a change come first."""
    first = {"answers"} if results_differ else set()
    for entry in digests:
        if entry["verdict"] == ERRORS:
            first.add("answers")
        if entry["verdict"] in (SLOWER, FASTER, UNSTABLE):
            first.update(READS if entry["class"] == "read" else WRITES)
    return sorted(TOPICS, key=lambda topic: topic not in first)


def rank_variables(rows: Iterable[Variable], order: list[str]) -> list[Variable]:
    """Return the variables with their `topic`.

    Variables in the table of causes come first, with their topics in the given order. All other variables follow with
    `topic` None.
    """
    found: list[Variable] = [
        {**row, "topic": place[2] if (place := place_of("variable", row["name"])) else None} for row in rows
    ]

    def rank(row: Variable) -> tuple[int, int, int]:
        place = place_of("variable", row["name"])
        return (order.index(place[2]), *place[:2]) if place else (len(order), 0, 0)

    return sorted(found, key=rank)


def rank_counters(rows: Iterable[CountersRow], order: list[str]) -> list[CountersRow]:
    """Return the counters with their `topic`.

    Counters that differ by COUNTER_WEIGHT or more come first, ordered by topic and difference.
    """
    found: list[RankedCounter] = [
        {**row, "topic": place[2] if (place := place_of("counter", row["name"])) else None} for row in rows
    ]

    def rank(row: RankedCounter) -> tuple[bool, int, float]:
        topic = row["topic"]
        return abs(row["weight"]) < COUNTER_WEIGHT, order.index(topic) if topic else len(order), -abs(row["weight"])

    return [*sorted(found, key=rank)]
