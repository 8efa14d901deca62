# SPDX-License-Identifier: Apache-2.0
"""Print what the statements of a tape do, on a terminal; 80 columns, the first few of each list."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ...common.units import count, duration
from ..database import Row
from .text_table import TEXT_WIDTH, StatementList, new_table, print_title

MAX_ROWS = 5
MAX_STATEMENTS = 4  # of a transaction
NAME_WIDTH = 18
COLUMN_WIDTH = 44

Workload = dict[str, list[Row]]


def show_workload(workload: Workload, console: Console, samples: bool) -> None:
    """Print each list that has rows; `samples`: with literal values."""
    if not samples:
        workload = without_values(workload)
    for name, show in SECTIONS.items():
        if workload[name]:
            show(workload[name], console)


def show_unused_indexes(use: Row, seconds: float, console: Console) -> None:
    """Print the indexes that nothing used (of index_report), and what is not known; `seconds`: of the tape."""
    rows = use["unused"]
    print_title(console, f"Indexes that nothing used: {count(len(rows))} of {count(use['asked'])}")
    since = "an unknown time" if use["uptime_s"] is None else duration(use["uptime_s"] * 1e9)
    counted = (
        f"{use['basis']} counted none either; the server runs for {since}" if use["basis"] else "uses were not counted"
    )
    console.print(f"  no statement of this tape ({seconds:,.1f} s) names their first column; {counted}")
    for text in use["unknown"]:
        console.print(f"  [yellow]not known:[/] {escape(printable(text))}")
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


def without_values(workload: Workload) -> Workload:
    """Return the workload without the literal values of statements."""
    rows = [{name: value for name, value in row.items() if name != "value"} for row in workload["hot_rows"]]
    return {**workload, "hot_rows": rows}


def not_parsed(workload: Workload) -> str | None:
    """Return what is to be said of digests that could not be parsed; None where all were."""
    for row in workload["parsed"]:
        if row["what"] == "failed":
            return (
                f"{count(row['digests'])} digests ({count(row['events'])} events, {duration(row['duration_ns'])}) could"
                " not be parsed: nothing is known of their columns and joins"
            )
    return None


def _columns(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Columns, by the time of the statements that use them")
    table = new_table("column", "role", "digests", "events", "time", left=2)
    for row in rows[:MAX_ROWS]:
        name = f"{row['table_name'] or 'one of several tables'}.{row['column_name']}"
        role = row["role"] + (", in an expression" if row["wrapped"] == row["digests"] else "")
        table.add_row(
            escape(printable(name, COLUMN_WIDTH)),
            role,
            count(row["digests"]),
            count(row["events"]),
            duration(row["duration_ns"]),
        )
    console.print(table)


def _signatures(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Transactions, by the time of their statements")
    listed = StatementList(console, NAME_WIDTH, 12)
    listed.head(("number", "rolled back", "time", "p50 length", "longest"))
    for row in rows[:MAX_ROWS]:
        times = [duration(row[name]) for name in ("duration_ns", "p50_span_ns", "max_span_ns")]
        statements = [_step(step) for step in row["statements"][:MAX_STATEMENTS]]
        listed.add(row["signature"], [count(row["transactions"]), count(row["rolled_back"]), *times], statements[0])
        more = len(row["statements"]) - len(statements)
        if row["locks"]:
            statements.append(f"locks in this order: {', '.join(row['locks'])}")
        if more:
            statements.insert(MAX_STATEMENTS, f"... and {more} statements")
        for text in statements[1:]:
            console.print(f"  [dim]{escape(printable(text, TEXT_WIDTH))}[/]", no_wrap=True)


def _step(step: Row) -> str:
    return (f"{step['times']} x " if step["times"] > 1 else "") + str(step["statement"])


def _lock_orders(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Tables that transactions lock in both orders: deadlocks come from this")
    table = new_table("table", "table", "first one first", "second one first", left=2)
    for row in rows[:MAX_ROWS]:
        names = [escape(printable(row[name], COLUMN_WIDTH // 2)) for name in ("table_a", "table_b")]
        table.add_row(*names, count(row["a_first"]), count(row["b_first"]))
    console.print(table)


def _loops(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Reads in a loop (N+1): a digest, or two in turn, ten times or more behind another read")
    listed = StatementList(console, NAME_WIDTH, 15)
    listed.head(("loops", "statements", "longest", "time"))
    for row in rows[:MAX_ROWS]:
        cells = [count(row[name]) for name in ("loops", "statements", "longest")]
        listed.add(row["digest"], [*cells, duration(row["duration_ns"])], row["normalized"])
        if row["partner"]:
            partner = f"in turn with {row['partner']}: {row['partner_normalized']}"
            console.print(f"  [dim]{escape(printable(partner, TEXT_WIDTH))}[/]", no_wrap=True)
        behind = f"behind {row['behind']}: {row['behind_normalized']}"
        console.print(f"  [dim]{escape(printable(behind, TEXT_WIDTH))}[/]", no_wrap=True)


def _open(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Transactions without an end")
    table = new_table("transaction", "", "number", "that wrote", "statements", "longest", left=2)
    why = {"left open": "left open at the session's end", "tape ended": "the tape ended first"}
    for row in rows[:MAX_ROWS]:
        cells = [count(row[name]) for name in ("transactions", "with_writes", "statements")]
        table.add_row(row["signature"], why[row["ended"]], *cells, duration(row["longest_ns"]))
    console.print(table)


def _not_committed(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Writes that were not committed, first those that never were")
    listed = StatementList(console, NAME_WIDTH, 12)
    listed.head(("events", "committed", "rolled back", "deadlock", "left open"))
    for row in rows[:MAX_ROWS]:
        cells = [count(row[name]) for name in ("events", "committed", "rolled_back", "deadlock", "left_open")]
        listed.add(row["digest"], cells, row["normalized"])


def _constant_reads(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Reads that came again with the same answer: what a cache could save")
    listed = StatementList(console, NAME_WIDTH, 15)
    listed.head(("texts", "repeats", "time", "known by"))
    for row in rows[:MAX_ROWS]:
        cells = [count(row["texts"]), count(row["repeats"]), duration(row["saved_ns"])]
        listed.add(row["digest"], [*cells, "checksum" if row["by_checksum"] else "rows only"], row["normalized"])


def _hot_rows(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Rows that are written or locked most often, by the values of WHERE")
    table = new_table("table", "row", "events", "sessions", "lock time", "time", left=2)
    for row in rows[:MAX_ROWS]:
        which = f"{row['columns']} = {row.get('value', 'no. ' + count(row['number']))}"
        cells = [count(row["events"]), count(row["sessions"]), duration(row["lock_ns"]), duration(row["duration_ns"])]
        table.add_row(escape(printable(row["table_name"], 18)), escape(printable(which, 22)), *cells)
    console.print(table)


def _waits(rows: Sequence[Row], console: Console) -> None:
    print_title(console, "Statements that came to rows which another transaction held")
    listed = StatementList(console, NAME_WIDTH, 15)
    listed.head(("times", "waited", "lock time", "longest"))
    for row in rows[:MAX_ROWS]:
        cells = [count(row["times"]), count(row["waited"]), duration(row["lock_ns"]), duration(row["longest_ns"])]
        listed.add(row["digest"], cells, row["normalized"])
        held = f"held by {row['held_by']}: {row['held_by_normalized']}"
        console.print(f"  [dim]{escape(printable(held, TEXT_WIDTH))}[/]", no_wrap=True)


SECTIONS: dict[str, Callable[[Sequence[Row], Console], None]] = {
    "columns": _columns,
    "signatures": _signatures,
    "lock_orders": _lock_orders,
    "n_plus_one": _loops,
    "open_transactions": _open,
    "not_committed": _not_committed,
    "hot_rows": _hot_rows,
    "waits": _waits,
    "constant_reads": _constant_reads,
}
