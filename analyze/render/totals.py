# SPDX-License-Identifier: Apache-2.0
"""The table of totals, formatted for every output: one row per number, one cell per side, and the ratio of times."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from ...common.units import count, duration, ratio
from ..model import Report
from ..rows import TotalsPart, TotalsRow

Column = Literal[
    "executed",
    "errors",
    "elapsed_ns",
    "per_second",
    "service_ns",
    "service_p50_ns",
    "service_p90_ns",
    "service_p95_ns",
    "service_p99_ns",
    "service_p999_ns",
    "service_max_ns",
    "response_p50_ns",
    "response_p90_ns",
    "response_p95_ns",
    "response_p99_ns",
    "response_max_ns",
    "rows_sent",
    "rows_affected",
]
TOTALS: tuple[tuple[str, Column, Callable[[float | None], str]], ...] = (
    ("executed", "executed", count),
    ("errors", "errors", count),
    ("elapsed", "elapsed_ns", duration),
    ("per second", "per_second", count),
    ("service time, sum", "service_ns", duration),
    ("service p50", "service_p50_ns", duration),
    ("service p90", "service_p90_ns", duration),
    ("service p95", "service_p95_ns", duration),
    ("service p99", "service_p99_ns", duration),
    ("service p99.9", "service_p999_ns", duration),
    ("service max", "service_max_ns", duration),
    ("response p50", "response_p50_ns", duration),
    ("response p90", "response_p90_ns", duration),
    ("response p95", "response_p95_ns", duration),
    ("response p99", "response_p99_ns", duration),
    ("response max", "response_max_ns", duration),
    ("rows sent", "rows_sent", count),
    ("rows affected", "rows_affected", count),
)


class Total(NamedTuple):
    """One row of totals: its name, its column in totals.sql, a cell per side, and the ratio B / A.

    The ratio is "" unless the row is a time.
    """

    name: str
    column: str
    cells: list[str]
    ratio: str


def totals(report: Report) -> list[Total]:
    """Return all rows of a report."""
    rows: dict[str, TotalsRow | TotalsPart] = {row["run"]: row for row in report.answers["totals"]}
    table = []
    for name, column, shown in TOTALS:
        values = [rows.get(letter, TotalsPart()).get(column) for letter in report.sides]
        before, after = values[0], values[-1]
        is_time = report.compares and shown is duration
        change = ratio(after / before) if is_time and before and after else ""
        table.append(Total(name, column, [shown(value) for value in values], change))
    return table
