# SPDX-License-Identifier: Apache-2.0
"""Tables for a terminal of 80 columns: plain tables, and lists of statements with the text on its own line."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...common.text import printable

TEXT_WIDTH = 76


def safe(value: object, most: int | None = None) -> str:
    """Return an untrusted text, printable and without rich's markup."""
    return escape(printable(str(value), most))


def new_table(*columns: str, left: int = 1) -> Table:
    """Return a plain table. Its first `left` columns are texts that may wrap, the others are numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", overflow="fold", no_wrap=number >= left)
    return table


def print_title(console: Console, title: str, more: str = "") -> None:
    """Print the title of a section after an empty line. `more` follows in plain type."""
    console.print(f"\n[bold]{title}[/]{more}")


class StatementList:
    """A list of statements with two lines each: a name and numbers, then the text."""

    def __init__(self, console: Console, name_width: int, cell_width: int) -> None:
        self.console = console
        self.name_width = name_width
        self.cell_width = cell_width

    def head(self, cells: Sequence[str]) -> None:
        """Print the line of column names."""
        self.console.print(f"[dim]{'':{self.name_width}}{self._row(cells)}[/]", no_wrap=True)

    def add(self, name: str, cells: Sequence[str], text: str, style: str = "bold", more: Sequence[str] = ()) -> None:
        """Print one statement. The lines of `more` are printed between its numbers and its text."""
        shown = escape(f"{name:{self.name_width}}")
        self.console.print(f"[{style}]{shown}[/]{self._row(cells)}", no_wrap=True)
        for line in more:
            self.console.print(escape(line), no_wrap=True, crop=False)
        self.console.print(f"  [dim]{safe(text, TEXT_WIDTH)}[/]", no_wrap=True)

    def _row(self, cells: Sequence[str]) -> str:
        return "".join(f"{cell:>{self.cell_width}}" for cell in cells)
