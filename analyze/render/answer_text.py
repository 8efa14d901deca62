# SPDX-License-Identifier: Apache-2.0
"""Print the answer on a terminal: the question, the answer, its three parts with their shares, what is to be done."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ..view import TaskLine, Tone, View
from .text_table import TEXT_WIDTH, new_table

COLOURS = {Tone.BAD: "red", Tone.WARN: "yellow", Tone.GOOD: "green", Tone.SOFT: "dim"}
MAX_TASKS = 8
LEAST_OF_PART = 2


def show_answer(view: View, texts: Mapping[str, str], console: Console) -> None:
    """Print all of it; nothing where nothing is compared. `texts`: of the digests."""
    if view.answer is None:
        return
    if view.cache:
        console.print(f"[yellow]{_safe(view.cache)}[/]")
    console.print(f"\n[bold]{_safe(view.question)}[/]")
    console.print(f"[bold {COLOURS[view.answer.tone]}]{_safe(view.answer.text)}[/]\n")
    table = new_table("", "digests", "events", "of traffic", "of time", "lost")
    for part in view.parts:
        table.add_row(*part.cells, style=COLOURS[part.tone])
    console.print(table)
    if view.tasks:
        console.print("\n[bold]What to do[/]")
    for number, task in _chosen(view.tasks):
        console.print(f"[{COLOURS[task.tone]}]{number}.[/] {_safe(task.said)}")
        text = texts.get(task.shown[0], "") if task.shown else ""
        console.print(f"   [dim]{escape(printable(text, TEXT_WIDTH))}[/]", no_wrap=True)
    if len(view.tasks) > MAX_TASKS:
        console.print(f"[dim]... {len(view.tasks) - MAX_TASKS:,} more: --html or --json show them[/]")


def _chosen(tasks: Sequence[TaskLine]) -> list[tuple[int, TaskLine]]:
    """Return the first tasks with their numbers in the whole list; of each part at least LEAST_OF_PART."""
    seen: Counter[str] = Counter()
    places: dict[bool, list[int]] = {True: [], False: []}
    for place, task in enumerate(tasks):
        seen[task.part] += 1
        places[seen[task.part] <= LEAST_OF_PART].append(place)
    return [(place + 1, tasks[place]) for place in sorted((places[True] + places[False])[:MAX_TASKS])]


def _safe(text: str) -> str:
    return escape(printable(text))
