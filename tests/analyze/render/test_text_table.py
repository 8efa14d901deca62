# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal."""

import io

from querytape.analyze.render.text_table import StatementList, new_table, print_title
from rich.console import Console


def test_statement_takes_two_lines() -> None:
    """Name and numbers are on the first line. The text is on the second line, cut to the terminal width. Markup is
    shown as text.
    """
    out = io.StringIO()
    statements = StatementList(Console(file=out, width=80, highlight=False), 10, 6)
    statements.head(("n", "p50"))
    statements.add("a[b]c", ("7", "1ms"), "select [red]" + "x" * 100)
    head, first, second = out.getvalue().splitlines()
    assert head == "               n   p50"
    assert first == "a[b]c          7   1ms"
    assert second.startswith("  select [red]xxx")
    assert len(second) == 78


def test_columns_are_aligned_by_type() -> None:
    """Texts are left-aligned and numbers right-aligned. A title has its own line."""
    out = io.StringIO()
    console = Console(file=out, width=80, highlight=False)
    print_title(console, "Totals", " of all")
    table = new_table("", "A")
    table.add_row("executed", "1,000")
    console.print(table)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "",
        "Totals of all",
        "              A",
        "executed  1,000",
    ]
