# SPDX-License-Identifier: Apache-2.0
"""Print on a terminal in what two servers differ: a line each, before any number."""

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ..findings.causes import reason_text
from ..model import Servers

MAX_SHOWN = 8
MAX_TEXT = 300


def show_servers(servers: Servers, console: Console) -> None:
    """Print the differences that are somebody's doing; those of the version alone are counted."""
    shown = servers.shown
    if shown:
        console.print("\n[bold]The servers differ[/]")
    for difference in shown[:MAX_SHOWN]:
        style = "red" if difference.changed else "yellow"
        console.print(f"  [{style}]{escape(printable(reason_text(difference), MAX_TEXT))}[/]")
    hidden = max(len(shown) - MAX_SHOWN, 0) + servers.more
    more = [f"{hidden:,} more: --html or --json show them"] if hidden else []
    if servers.folded:
        more.append(f"{len(servers.folded):,} come with the version alone")
    if more:
        console.print(f"  [dim]... {'; '.join(more)}[/]")
    if servers.problem:
        console.print(f"[yellow]{escape(printable(servers.problem, MAX_TEXT))}[/]")
