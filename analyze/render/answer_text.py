# SPDX-License-Identifier: Apache-2.0
"""Print the answer on a terminal: the question, the answer, its three parts with their shares, what is to be done."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ...common.units import duration
from ..findings.headline import (
    BREAKS,
    CHEAPER,
    DEARER_READS,
    DEARER_WRITES,
    ELSE,
    NO,
    OF_TIME,
    SLOW,
    UNKNOWN,
    YES,
    Part,
    answer_of,
    parts_of,
    question,
    share,
)
from ..findings.remedies import Task, to_do
from ..findings.slower import cache_sentence
from ..model import Report
from .text_table import TEXT_WIDTH, new_table

ANSWER_COLOURS = {YES: "green", NO: "red", UNKNOWN: "yellow"}
PART_COLOURS = {
    BREAKS: "red",
    ELSE: "red",
    SLOW: "yellow",
    CHEAPER: "green",
    DEARER_READS: "yellow",
    DEARER_WRITES: "yellow",
}
MAX_TASKS = 8
LEAST_OF_PART = 2


def show_answer(report: Report, console: Console) -> None:
    """Print all of it; nothing where nothing is compared."""
    answer = answer_of(report)
    if answer is None:
        return
    if said := cache_sentence(report):
        console.print(f"[yellow]{_safe(said)}[/]")
    console.print(f"\n[bold]{_safe(question(report))}[/]")
    console.print(f"[bold {ANSWER_COLOURS[answer.answer]}]{_safe(answer.sentence)}[/]\n")
    table = new_table("", "digests", "events", "of traffic", "of time", "lost")
    for part in parts_of(report):
        style = PART_COLOURS[part.name] if part.events > part.explained else "dim"
        table.add_row(*_cells(part), style=style)
    console.print(table)
    tasks = to_do(report)
    if tasks:
        console.print("\n[bold]What to do[/]")
    for number, task in _chosen(tasks):
        _task(report, console, number, task)
    if len(tasks) > MAX_TASKS:
        console.print(f"[dim]... {len(tasks) - MAX_TASKS:,} more: --html or --json show them[/]")


def _cells(part: Part) -> list[str]:
    """Return the cells of one part; a dash for each number of an empty one."""
    name = f"{part.name} (of {part.untold:,} it can't be told)" if part.untold else part.name
    if not part.events:
        return [name, "0", "0", "-", "-", "-"]
    time = "-" if part.time_share is None else share(part.time_share)
    lost = duration(part.lost_ns) if part.name in OF_TIME else "-"
    return [name, f"{part.digests:,}", f"{part.events:,}", share(part.events_share), time, lost]


def _chosen(tasks: list[Task]) -> list[tuple[int, Task]]:
    """Return the first tasks with their numbers in the whole list; of each part at least LEAST_OF_PART."""
    seen: Counter[str] = Counter()
    places: dict[bool, list[int]] = {True: [], False: []}
    for place, task in enumerate(tasks):
        seen[task.part] += 1
        places[seen[task.part] <= LEAST_OF_PART].append(place)
    return [(place + 1, tasks[place]) for place in sorted((places[True] + places[False])[:MAX_TASKS])]


def _task(report: Report, console: Console, number: int, task: Task) -> None:
    """Print one group: its sentence, and its first statement."""
    style = "dim" if task.expected else PART_COLOURS[task.part]
    console.print(f"[{style}]{number}.[/] {_safe(task.said())}")
    first = next(iter(task.shown), None)
    text = next((entry["text"] for entry in report.digests if entry["digest"] == first), "")
    console.print(f"   [dim]{escape(printable(text, TEXT_WIDTH))}[/]", no_wrap=True)


def _safe(text: str) -> str:
    return escape(printable(text))
