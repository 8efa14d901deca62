# SPDX-License-Identifier: Apache-2.0
"""Print the answer on a terminal: server differences, question, answer, parts and tasks."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console

from ...common.units import plural
from ..view import Differences, TaskLine, Tone, View
from .text_table import TEXT_WIDTH, new_table, safe

COLOURS = {Tone.BAD: "red", Tone.WARN: "yellow", Tone.GOOD: "green", Tone.SOFT: "dim"}
MAX_DIFFERENCES, MAX_DIFFERENCE = 8, 300  # maximum number of differences, maximum characters of each
MAX_TASKS = 8
LEAST_OF_PART = 2


def show_servers(differences: Differences, console: Console) -> None:
    """Print the server differences. For differences that only the version causes, print their number."""
    if differences.shown:
        console.print("\n[bold]The servers differ[/]")
    for said in differences.shown[:MAX_DIFFERENCES]:
        console.print(f"  [{COLOURS[said.tone]}]{safe(said.text, MAX_DIFFERENCE)}[/]")
    hidden = max(len(differences.shown) - MAX_DIFFERENCES, 0) + differences.more
    more = [f"{hidden:,} more (use --html or --json)"] if hidden else []
    if differences.of_version:
        more.append(f"{plural(len(differences.of_version), 'difference')} caused only by the version")
    if more:
        console.print(f"  [dim]... {'; '.join(more)}[/]")
    if differences.problem:
        console.print(f"[yellow]{safe(differences.problem, MAX_DIFFERENCE)}[/]")


def show_answer(view: View, texts: Mapping[str, str], console: Console) -> None:
    """Print the answer, its parts and tasks. Prints nothing if nothing is compared. `texts`: statements by digest."""
    if view.answer is None:
        return
    if view.cache:
        console.print(f"[yellow]{safe(view.cache)}[/]")
    console.print(f"\n[bold]{safe(view.question)}[/]")
    console.print(f"[bold {COLOURS[view.answer.tone]}]{safe(view.answer.text)}[/]\n")
    table = new_table("", "digests", "events", "of traffic", "of time", "lost")
    for part in view.parts:
        table.add_row(*part.cells, style=COLOURS[part.tone])
    console.print(table)
    for note in view.answer_notes:
        console.print(safe(note))
    if view.tasks:
        console.print("\n[bold]What to do[/]")
    for number, task in _chosen(view.tasks):
        console.print(f"[{COLOURS[task.tone]}]{number}.[/] {safe(task.said)}")
        text = texts.get(task.shown[0], "") if task.shown else ""
        console.print(f"   [dim]{safe(text, TEXT_WIDTH)}[/]", no_wrap=True)
    if len(view.tasks) > MAX_TASKS:
        console.print(f"[dim]... {len(view.tasks) - MAX_TASKS:,} more (use --html or --json)[/]")


def _chosen(tasks: Sequence[TaskLine]) -> list[tuple[int, TaskLine]]:
    """Return the first MAX_TASKS tasks with their numbers in the whole list.

    Each part keeps at least LEAST_OF_PART tasks.
    """
    seen: Counter[str] = Counter()
    places: dict[bool, list[int]] = {True: [], False: []}
    for place, task in enumerate(tasks):
        seen[task.part] += 1
        places[seen[task.part] <= LEAST_OF_PART].append(place)
    return [(place + 1, tasks[place]) for place in sorted((places[True] + places[False])[:MAX_TASKS])]
