# SPDX-License-Identifier: Apache-2.0
"""Print a tape's summary, or the differences between two tapes, on a terminal of 80 columns."""

from rich.console import Console
from rich.markup import escape

from ...common.staged import shown_path
from ...common.units import count, duration, plural, whole_percents
from ..findings.trust import where_measured
from ..tape_summary import TapeDifference, TapeSummary
from .tape_text import limits, name_of, rhythm_lines, seconds_of, size_lines, size_text, source_of
from .text_table import StatementList, new_table, print_title, safe
from .workload_terminal import show_unused_indexes, show_workload

MAX_ROWS = 8
NAME_WIDTH = 18


def show_tape_summary(summary: TapeSummary, console: Console, top: int, samples: bool = False) -> None:
    """Print a tape's summary with at most `top` statements. `samples`: include literal values."""
    _head(summary, console)
    _classes(summary, console)
    _accounts(summary, console)
    _tables(summary, console)
    _digests(summary, console, top)
    show_workload(summary.workload, console, samples)
    if summary.indexes is not None:
        (totals,) = summary.answers["totals"]
        show_unused_indexes(summary.indexes, seconds_of(totals), console)


def _head(summary: TapeSummary, console: Console) -> None:
    """Print the source, sizes and rhythm of a tape, and its missing content."""
    console.print(f"[bold]{escape(name_of(summary))}[/]  {escape(source_of(summary))}")
    for line in (*size_lines(summary), *rhythm_lines(summary)):
        console.print(f"  {escape(line)}")
    for text, warning in limits(summary):
        words = [f"[yellow]{escape(warning)}[/]"] if warning else []
        console.print(f"  {' '.join([*words, *([escape(text)] if text else [])])}")


def _classes(summary: TapeSummary, console: Console) -> None:
    time = f"time {where_measured(summary.tape.tape_info)}"
    print_title(console, "Statement classes and other commands")
    table = new_table("class", "events", "share", time, "digests")
    classes = summary.answers["classes"]
    others = [row for row in summary.answers["commands"] if row["without_class"]]
    shares = whole_percents([*(row["events"] for row in classes), *(row["without_class"] for row in others)])
    for row, share in zip(classes, shares, strict=False):
        table.add_row(row["class"], count(row["events"]), share, duration(row["duration_ns"]), count(row["digests"]))
    for other, share in zip(others, shares[len(classes) :], strict=True):
        table.add_row(f"[dim]{other['command']}[/]", count(other["without_class"]), share, "", "")
    console.print(table)


def _accounts(summary: TapeSummary, console: Console) -> None:
    print_title(console, "Users and schemas")
    table = new_table("user", "schema", "events", "sessions", left=2)
    for row in summary.answers["accounts"][:MAX_ROWS]:
        table.add_row(safe(row["user"]), safe(row["db"] or "-"), count(row["events"]), count(row["sessions"]))
    console.print(table)


def _tables(summary: TapeSummary, console: Console) -> None:
    rows = summary.answers["tables"]
    if not rows:
        return
    print_title(console, "Tables in statements")
    table = new_table("table", "reads", "writes", "time")
    for row in rows[:MAX_ROWS]:
        name = safe(row["name"], 40)
        table.add_row(name, count(row["reads"] or 0), count(row["writes"] or 0), duration(row["duration_ns"]))
    console.print(table)


def _digests(summary: TapeSummary, console: Console, top: int) -> None:
    print_title(console, f"Statements by total time {where_measured(summary.tape.tape_info)}")
    statements = StatementList(console, NAME_WIDTH, 11)
    statements.head(("events", "time", "p50", "p95", "max"))
    for row in summary.answers["digests"][:top]:
        times = [duration(row[column]) for column in ("duration_ns", "p50_ns", "p95_ns", "max_ns")]
        statements.add(row["digest"], [count(row["events"]), *times], row["normalized"])


def show_tape_difference(changed: TapeDifference, console: Console, top: int) -> None:
    """Print the differences between tape A and a later tape B, with at most `top` statements."""
    for letter, tape, totals in zip("AB", changed.tapes, changed.totals, strict=True):
        console.print(
            f"[bold]{letter}[/] {safe(shown_path(tape.path))}: {size_text(totals)} in {seconds_of(totals):,.0f} s"
            f" ({count(totals['per_second'])}/s)"
        )
    gone = sum(1 for row in changed.digests if not row["events_b"])
    new = sum(1 for row in changed.digests if not row["events_a"])
    console.print(f"Only on B: {plural(new, 'digest')}. Only on A: {plural(gone, 'digest')}.")
    print_title(console, "Statements per hour, largest changes first")
    statements = StatementList(console, NAME_WIDTH, 12)
    statements.head(("A", "B", "mean A", "mean B"))
    for row in changed.digests[:top]:
        cells = [count(row["per_hour_a"]), count(row["per_hour_b"])]
        cells += [duration(row["mean_a_ns"]), duration(row["mean_b_ns"])]
        statements.add(row["digest"], cells, row["normalized"])
