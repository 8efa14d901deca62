# SPDX-License-Identifier: Apache-2.0
"""Format the workload of a tape as sections of text rows. The terminal and the page show these sections."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from ...common.units import count, duration, plural
from ..database import Row
from ..tape_rows import (
    Workload,
    WorkloadColumnsRow,
    WorkloadConstantReadsRow,
    WorkloadHotRowsRow,
    WorkloadLockOrdersRow,
    WorkloadNotCommittedRow,
    WorkloadNPlusOneRow,
    WorkloadOpenTransactionsRow,
    WorkloadSignaturesRow,
    WorkloadSignaturesStatements,
    WorkloadWaitsRow,
)


class Entry(NamedTuple):
    """One row of a section. Its texts may contain unprintable characters, so the caller must make them printable.

    `name`: a digest or signature. `text`: its statement. `more`: the lines below the statement. In a plain table
    `name`, `text` and `more` are empty.
    """

    cells: list[str]
    name: str = ""
    text: str = ""
    more: tuple[str, ...] = ()


class Section(NamedTuple):
    """One list of the workload: its title, its column heads, and the function that turns a row into an entry.

    `widths`: widths of the text columns at the start of a plain table (None: not cut). For a list of statements
    `widths` is empty.
    """

    title: str
    heads: tuple[str, ...]
    entry: Callable[[Any], Entry]  # makes an entry from a row of the analysis
    widths: tuple[int | None, ...] = ()


def sections_of(workload: Workload, samples: bool) -> list[tuple[Section, Sequence[Row]]]:
    """Return each non-empty section with all of its rows. `samples`: include literal values."""
    if not samples:
        workload = without_values(workload)
    rows = cast(dict[str, list[Row]], workload)
    return [(section, rows[name]) for name, section in SECTIONS.items() if rows[name]]


def without_values(workload: Workload) -> Workload:
    """Return the workload without the literal values of statements."""
    rows = [{name: value for name, value in row.items() if name != "value"} for row in workload["hot_rows"]]
    return {**workload, "hot_rows": cast(list[WorkloadHotRowsRow], rows)}


def not_parsed(workload: Workload) -> str | None:
    """Return a sentence on the digests that could not be parsed, or None if all were parsed."""
    for row in workload["parsed"]:
        if row["what"] == "failed":
            return (
                f"{plural(row['digests'], 'digest')} ({plural(row['events'], 'event')}, {duration(row['duration_ns'])})"
                " could not be parsed, so their columns and joins are unknown"
            )
    return None


def _column(row: WorkloadColumnsRow) -> Entry:
    name = f"{row['table_name'] or 'one of several tables'}.{row['column_name']}"
    role = row["role"] + (", in an expression" if row["wrapped"] == row["digests"] else "")
    return Entry([name, role, count(row["digests"]), count(row["events"]), duration(row["duration_ns"])])


def _signature(row: WorkloadSignaturesRow) -> Entry:
    times = [duration(row[name]) for name in ("duration_ns", "p50_span_ns", "max_span_ns")]
    statements = [_step(step) for step in row["statements"]]
    locks = [f"lock order: {', '.join(row['locks'])}"] if row["locks"] else []
    cells = [count(row["transactions"]), count(row["rolled_back"]), *times]
    return Entry(cells, row["signature"], statements[0], (*statements[1:], *locks))


def _step(step: WorkloadSignaturesStatements) -> str:
    return (f"{step['times']} x " if step["times"] > 1 else "") + str(step["statement"])


def _lock_order(row: WorkloadLockOrdersRow) -> Entry:
    return Entry([row["table_a"], row["table_b"], count(row["a_first"]), count(row["b_first"])])


def _loop(row: WorkloadNPlusOneRow) -> Entry:
    cells = [*(count(row[name]) for name in ("loops", "statements", "longest")), duration(row["duration_ns"])]
    partner = [f"alternating with {row['partner']}: {row['partner_normalized']}"] if row["partner"] else []
    behind = f"after {row['behind']}: {row['behind_normalized']}"
    return Entry(cells, row["digest"], row["normalized"], (*partner, behind))


def _open(row: WorkloadOpenTransactionsRow) -> Entry:
    why = {"left open": "session ended first", "tape ended": "tape ended first"}
    cells = [count(row[name]) for name in ("transactions", "with_writes", "statements")]
    return Entry([row["signature"], why[row["ended"]], *cells, duration(row["longest_ns"])])


def _not_committed(row: WorkloadNotCommittedRow) -> Entry:
    cells = [count(row[name]) for name in ("events", "committed", "rolled_back", "deadlock", "left_open")]
    return Entry(cells, row["digest"], row["normalized"])


def _constant_read(row: WorkloadConstantReadsRow) -> Entry:
    cells = [count(row["texts"]), count(row["repeats"]), duration(row["saved_ns"])]
    return Entry([*cells, "checksum" if row["by_checksum"] else "rows only"], row["digest"], row["normalized"])


def _hot_row(row: WorkloadHotRowsRow) -> Entry:
    which = f"{row['columns']} = {row.get('value', 'no. ' + count(row['number']))}"
    cells = [count(row["events"]), count(row["sessions"]), duration(row["lock_ns"]), duration(row["duration_ns"])]
    return Entry([row["table_name"], which, *cells])


def _wait(row: WorkloadWaitsRow) -> Entry:
    cells = [count(row["times"]), count(row["waited"]), duration(row["lock_ns"]), duration(row["longest_ns"])]
    held = f"held by {row['held_by']}: {row['held_by_normalized']}"
    return Entry(cells, row["digest"], row["normalized"], (held,))


SECTIONS = {
    "columns": Section(
        "Columns by total time of the statements that use them",
        ("column", "role", "digests", "events", "time"),
        _column,
        (44, None),
    ),
    "signatures": Section(
        "Transactions by total time of their statements",
        ("number", "rolled back", "time", "p50 length", "longest"),
        _signature,
    ),
    "lock_orders": Section(
        "Pairs of tables that transactions lock in both orders (deadlock risk)",
        ("table", "table", "first one first", "second one first"),
        _lock_order,
        (22, 22),
    ),
    "n_plus_one": Section(
        "Reads in a loop (N+1): one or two digests repeat at least ten times in a row after one read",
        ("loops", "statements", "longest", "time"),
        _loop,
    ),
    "open_transactions": Section(
        "Unfinished transactions",
        ("transaction", "", "number", "that wrote", "statements", "longest"),
        _open,
        (None, None),
    ),
    "not_committed": Section(
        "Uncommitted writes (first the digests that were never committed)",
        ("events", "committed", "rolled back", "deadlock", "left open"),
        _not_committed,
    ),
    "hot_rows": Section(
        "Rows written or locked most often, by their WHERE values",
        ("table", "row", "events", "sessions", "lock time", "time"),
        _hot_row,
        (18, 22),
    ),
    "waits": Section(
        "Statements on rows that another transaction had locked",
        ("times", "waited", "lock time", "longest"),
        _wait,
    ),
    "constant_reads": Section(
        "Repeated reads with the same result (a cache could answer these reads)",
        ("texts", "repeats", "time", "known by"),
        _constant_read,
    ),
}
