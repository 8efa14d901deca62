# SPDX-License-Identifier: Apache-2.0
"""Print on a terminal in what two servers differ: a line each, before any number."""

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ..view import Differences, Tone

MAX_SHOWN = 8
MAX_TEXT = 300


def show_servers(differences: Differences, console: Console) -> None:
    """Print the differences that are somebody's doing; those of the version alone are counted."""
    if differences.shown:
        console.print("\n[bold]The servers differ[/]")
    for said in differences.shown[:MAX_SHOWN]:
        style = "red" if said.tone is Tone.BAD else "yellow"
        console.print(f"  [{style}]{escape(printable(said.text, MAX_TEXT))}[/]")
    hidden = max(len(differences.shown) - MAX_SHOWN, 0) + differences.more
    more = [f"{hidden:,} more: --html or --json show them"] if hidden else []
    if differences.of_version:
        more.append(f"{len(differences.of_version):,} come with the version alone")
    if more:
        console.print(f"  [dim]... {'; '.join(more)}[/]")
    if differences.problem:
        console.print(f"[yellow]{escape(printable(differences.problem, MAX_TEXT))}[/]")
