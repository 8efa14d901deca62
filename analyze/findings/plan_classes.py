# SPDX-License-Identifier: Apache-2.0
"""Class how two plans of one statement differ: one word for each thing, worst first, with a sentence."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...common.units import count, duration
from .plan_json import Access, Plan, measured, read_plan

(FAILS, SCAN, ACCESS, INDEX, ORDER, STEPS, ESTIMATES, FEWER_STEPS, SAME, UNKNOWN) = (
    "fails",
    "now a scan",
    "other access",
    "other index",
    "other join order",
    "now sorts or a temporary table",
    "estimates apart",
    "no longer sorts or a temporary table",
    "same",
    "cannot tell",
)
# Worst first.
CLASSES = (FAILS, SCAN, ACCESS, INDEX, ORDER, STEPS, ESTIMATES, FEWER_STEPS, UNKNOWN, SAME)
AGREE = (SAME, ESTIMATES)  # the tables are read in the same way
TIMES_APART = 10
MIN_ROWS = 100  # estimates below that are all alike
_ROWS = re.compile(r"\b\d[\d,]*(?= rows\b)")
SINGLE_ROW = frozenset({"const", "eq_ref", "system"})


class Change(NamedTuple):
    """One thing in which two plans differ."""

    word: str
    text: str


def plan_changes(before: str, after: str) -> list[Change]:
    """Return what differs between two plans of a statement, a change for each table and step; worst first."""
    a, b = read_plan(before), read_plan(after)
    found = [*_of_tables(a, b), *_of_steps(a, b)]
    return sorted(found, key=lambda change: CLASSES.index(change.word))


def changes(before: str, after: str) -> list[str]:
    """Return what differs between two plans of a statement, a sentence for each table and step."""
    return [change.text for change in plan_changes(before, after)]


def merged(texts: Iterable[str]) -> list[str]:
    """Return changes in their order, those that differ only in numbers of rows as one: `ref by k, 1 to 4 rows`."""
    found: dict[str, list[list[int]]] = {}
    for text in texts:
        numbers = [int(number.replace(",", "")) for number in _ROWS.findall(text)]
        found.setdefault(_ROWS.sub("{}", text.replace("{", "{{").replace("}", "}}")), []).append(numbers)
    return [form.format(*map(_range, zip(*numbers, strict=True))) for form, numbers in found.items()]


def _range(numbers: Iterable[int]) -> str:
    every = sorted(numbers)
    return count(every[0]) if every[0] == every[-1] else f"{count(every[0])} to {count(every[-1])}"


def worst(words: list[str]) -> str:
    """Return the worst of classes; `same` where there is none."""
    return min(words, key=CLASSES.index, default=SAME)


def agreeing(a: Mapping[tuple[str, int], str], b: Mapping[tuple[str, int], str]) -> set[str]:
    """Return the digests of which both sides have a plan, and none of their samples is run in another way.

    `a` and `b`: plans as JSON by digest and number of the sample.
    """
    words: dict[str, list[str]] = {}
    for digest, number in sorted(a.keys() & b.keys()):
        found = plan_changes(a[digest, number], b[digest, number])
        words.setdefault(digest, []).append(worst([change.word for change in found]))
    return {digest for digest, found in words.items() if worst(found) in AGREE}


def _of_tables(a: Plan, b: Plan) -> list[Change]:
    old_of, new_of = ({access.table: access for access in plan.accesses} for plan in (a, b))
    found = [
        change
        for table in dict.fromkeys([*old_of, *new_of])
        if (change := _of_table(table, old_of.get(table), new_of.get(table), a, b))
    ]
    orders = [[access.table for access in plan.accesses if access.table in old_of.keys() & new_of] for plan in (a, b)]
    if orders[0] != orders[1]:
        found.append(Change(ORDER, f"tables are read in a different order: {', '.join(orders[1])}"))
    return found


def _of_table(table: str, a: Access | None, b: Access | None, plan_a: Plan, plan_b: Plan) -> Change | None:
    """Return how the reading of one table differs, None where it does not."""
    if a is None or b is None:
        word = SCAN if b is not None and b.is_scan and plan_a.accesses else ACCESS
        sides = (a or plan_a.message or "not read", b or plan_b.message or "not read")
        return Change(word, f"{table}: {sides[0]} -> {sides[1]}")
    text = f"{table}: {a} -> {b}"
    if (a.kind, a.key) == (b.kind, b.key):
        return Change(ESTIMATES, text) if _apart(a.rows, b.rows) else None
    if b.is_scan and not a.is_scan:
        return Change(SCAN, text)
    if a.kind == b.kind or {a.kind, b.kind} <= SINGLE_ROW:
        return Change(INDEX, text) if a.key != b.key else None
    return Change(ACCESS, text)


def _apart(a: int | None, b: int | None) -> bool:
    """Whether two estimates are apart by ten times, and matter."""
    if a is None or b is None or max(a, b) < MIN_ROWS:
        return False
    return max(a, b) >= TIMES_APART * max(min(a, b), 1)


def _of_steps(a: Plan, b: Plan) -> list[Change]:
    return [
        *(Change(STEPS, f"now {step}") for step in b.steps if step not in a.steps),
        *(Change(FEWER_STEPS, f"no longer {step}") for step in a.steps if step not in b.steps),
    ]


def measured_text(a: str | None, b: str | None) -> str | None:
    """Return what ANALYZE measured on both servers; None where it was not asked, or one does not say."""
    (time_a, rows_a), (time_b, rows_b) = measured(a), measured(b)
    if time_a is None or time_b is None:
        return None
    rows = "" if rows_a is None or rows_b is None else f", {count(rows_a)} -> {count(rows_b)} rows read"
    return f"took {duration(time_a * 1e6)} -> {duration(time_b * 1e6)}{rows}"


def cost_text(a: str | None, b: str | None) -> str | None:
    """Return what both optimizers think it costs; None where one does not say. Of two families they don't compare."""
    costs = (read_plan(a).cost, read_plan(b).cost)
    if None in costs:
        return None
    return f"cost {' -> '.join(count(cost) if cost and cost >= 100 else f'{cost:.3g}' for cost in costs)}"
