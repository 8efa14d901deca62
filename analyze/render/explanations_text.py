# SPDX-License-Identifier: Apache-2.0
"""Print possible explanations on a terminal of 80 columns: query plans by statement, counters and variables."""

import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ...common.units import count
from ..cause_table import COUNTER_WEIGHT
from ..findings.plans import UNKNOWN
from ..findings.servers import value_texts
from ..findings.slower import work_of, work_of_writes, work_text
from ..model import Report, Variable
from .text_table import TEXT_WIDTH, print_title

WIDTH = 78
MAX_PLANS, MAX_COUNTERS, MAX_VARIABLES = 8, 6, 8
MAX_VALUE = 240


def show_explanations(report: Report, console: Console) -> None:
    """Print a section with the possible explanations, if there are any."""
    lines = [*plan_lines(report), *work_lines(report), *counter_lines(report), *variable_lines(report)]
    if lines:
        print_title(console, "Possible explanations")
    for line in lines:
        console.print(escape(line), no_wrap=True, overflow="ignore", crop=False)


def plan_lines(report: Report) -> Iterator[str]:
    """Yield each statement with different query plans, and the differences."""
    changed = [
        (entry, changes)
        for entry in report.digests
        if (plan := report.query_plans.get(entry["digest"])) and (changes := plan["changes"])
        if plan.get("class") != UNKNOWN
    ]
    if changed:
        yield "  Query plans that differ:"
    for entry, changes in changed[:MAX_PLANS]:
        yield f"    {printable(entry['text'], TEXT_WIDTH - 4)}"
        for change in changes:
            yield from wrapped(printable(change), "      ")
    if len(changed) > MAX_PLANS:
        yield f"    and {len(changed) - MAX_PLANS:,} more statements (use --html or --json)"


def work_lines(report: Report) -> Iterator[str]:
    """Yield each statement with equal plans but different counters, and the differing counters per write."""
    reads = [(entry, works) for entry in report.digests if (works := work_of(report.query_plans.get(entry["digest"])))]
    if reads:
        yield "  Statements with the same plans but different counters:"
    for entry, works in reads[:MAX_PLANS]:
        yield f"    {printable(entry['text'], TEXT_WIDTH - 4)}"
        yield from wrapped(work_text(works), "      ")
    if len(reads) > MAX_PLANS:
        yield f"    and {len(reads) - MAX_PLANS:,} more statements (use --html or --json)"
    if works := work_of_writes(report):
        yield from wrapped(f"Counters of writes: {work_text(works, 'write')}", "  ")


def counter_lines(report: Report) -> Iterator[str]:
    """Yield the most important counters per 1,000 statements."""
    rows = [row for row in report.answers["counters"] if abs(row["weight"]) > COUNTER_WEIGHT]
    if not report.compares or not rows:
        return
    yield "  Server counters per 1,000 statements:"
    for row in rows[:MAX_COUNTERS]:
        yield f"    {printable(row['name']):<38} {count(row['a']):>12} in A {count(row['b']):>12} in B"
    if len(rows) > MAX_COUNTERS:
        yield f"    and {len(rows) - MAX_COUNTERS:,} more (use --html or --json)"


def variable_lines(report: Report) -> Iterator[str]:
    """Yield the most important variables, and the number of the other variables."""
    shown = telling_variables(report.variables)[:MAX_VARIABLES]
    if not report.variables:
        return
    yield "  Server variables that differ:"
    for row in shown:
        a, b = value_texts(row["a"], row["b"])
        yield from wrapped(f"{row['name']}: {a} in A, {b} in B", "    ")
    more = len(report.variables) - len(shown)
    if more:
        yield f"    {'and ' if shown else ''}{more:,} {'more' if shown else 'in total'} (use --html or --json)"


def telling_variables(rows: list[Variable]) -> list[Variable]:
    """Return the variables that the table of causes lists."""
    return [row for row in rows if row.get("topic") is not None]


def wrapped(text: str, indent: str) -> list[str]:
    """Return a text wrapped into lines. Only words longer than a line are broken."""
    shown = printable(text, 3 * MAX_VALUE)
    return textwrap.wrap(shown, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
