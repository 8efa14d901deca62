# SPDX-License-Identifier: Apache-2.0
"""Print the workload of a tape on a terminal of 80 columns, with the first rows of each list."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ...common.units import count, duration
from ..database import Row
from ..tape_rows import Workload
from ..workload.indexes import IndexReport
from .text_table import TEXT_WIDTH, StatementList, new_table, print_title
from .workload_sections import Section, sections_of

MAX_ROWS = 5
MAX_STATEMENTS = 4  # maximum number of statements shown per transaction
NAME_WIDTH = 18
CELLS_WIDTH = 60  # total width of all numbers of a statement


def show_workload(workload: Workload, console: Console, samples: bool) -> None:
    """Print each non-empty list. `samples`: include literal values."""
    for section, rows in sections_of(workload, samples):
        print_title(console, section.title)
        (_table if section.widths else _list)(section, rows[:MAX_ROWS], console)


def _table(section: Section, rows: Sequence[Row], console: Console) -> None:
    """Print a plain table. Texts are cut to their widths."""
    table = new_table(*section.heads, left=len(section.widths))
    for row in rows:
        cells = zip_longest(section.entry(row).cells, section.widths)
        table.add_row(*(escape(printable(cell, width)) for cell, width in cells))
    console.print(table)


def _list(section: Section, rows: Sequence[Row], console: Console) -> None:
    """Print a list of statements, each with its additional lines below it."""
    listed = StatementList(console, NAME_WIDTH, CELLS_WIDTH // len(section.heads))
    listed.head(section.heads)
    for row in rows:
        entry = section.entry(row)
        listed.add(entry.name, entry.cells, entry.text)
        for text in _shortened(entry.more, len(row.get("statements", ())) if entry.name == row.get("signature") else 0):
            console.print(f"  [dim]{escape(printable(text, TEXT_WIDTH))}[/]", no_wrap=True)


def _shortened(lines: Sequence[str], statements: int) -> list[str]:
    """Return the lines below a transaction, with only the first few of its statements."""
    hidden = statements - MAX_STATEMENTS
    if hidden <= 0:
        return list(lines)
    shown = MAX_STATEMENTS - 1  # the first statement is printed above these lines
    return [*lines[:shown], f"... and {hidden} statements", *lines[shown + hidden :]]


def show_unused_indexes(use: IndexReport, seconds: float, console: Console) -> None:
    """Print the unused indexes from index_report and the unknown parts. `seconds`: length of the tape."""
    rows = use["unused"]
    print_title(console, f"Unused indexes: {count(len(rows))} of {count(use['asked'])}")
    since = "an unknown time" if use["uptime_s"] is None else duration(use["uptime_s"] * 1e9)
    counted = (
        f"{use['basis']} shows no use since the server started ({since})"
        if use["basis"]
        else "the server did not count index uses"
    )
    console.print(
        f"  no statement of this tape ({seconds:,.1f} s) uses the first column of these indexes, and {counted}"
    )
    for text in use["unknown"]:
        console.print(f"  [yellow]unknown:[/] {escape(printable(text))}")
    table = new_table("index", "columns", "needed for", left=3)
    for row in rows[: 2 * MAX_ROWS]:
        name = f"{row['schema']}.{row['table']}.{row['name']}"
        needed = [
            word for word, holds in (("uniqueness", row["unique"]), ("a foreign key", row["foreign_key"])) if holds
        ]
        columns = ", ".join(column or "(expression)" for column in row["columns"])
        table.add_row(escape(printable(name, 36)), escape(printable(columns, 24)), ", ".join(needed))
    if rows:
        console.print(table)
