# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that opens from disk: no network, every text escaped by the template."""

from typing import Any

import sqlparse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .charts import Series, line_chart
from .masking import printable
from .numbers import count, duration, percent, ratio
from .questions import Row
from .report import Report
from .terminal import TOTALS

FORMATTED_MOST = 10_000  # sqlparse stalls on very long statements: those are shown as they are
SHOWN_MOST = 100_000

CHARTS = (
    ("Throughput", "per_second", "statements/s", 1.0),
    ("Service time, p95", "p95_ns", "ms", 1e6),
    ("Statements in the server", "busy", "on average", 1.0),
    ("Errors", "errors", "per bin", 1.0),
)


def pretty(sql: str) -> str:
    """Return a statement laid out for reading, or as it is where it is too long for that."""
    if len(sql) > FORMATTED_MOST:
        return printable_lines(sql[:SHOWN_MOST])
    return printable_lines(str(sqlparse.format(sql, reindent=True, keyword_case="upper")))


def printable_lines(text: str) -> str:
    """Return a text whose only control characters are its newlines."""
    return "\n".join(printable(line) for line in text.split("\n"))


def charts(report: Report) -> list[tuple[str, Markup]]:
    """Return (title, SVG) of each chart."""
    seconds = report.bin_ns / 1e9
    found = []
    for title, column, unit, size in CHARTS:
        series = []
        for letter in "ab"[: len(report.runs)]:
            rows = [row for row in report.answers["timeline"] if row["run"] == letter]
            points = [
                (row["bin"] * seconds, None if row[column] is None else row[column] / size)
                for row in rows
                if row["bin"] >= 0
            ]
            series.append(Series(letter.upper(), f"line-{letter}", points))
        found.append((f"{title}, {unit}", Markup(line_chart(title, unit, series))))
    return found


def totals(report: Report) -> list[dict[str, Any]]:
    """Return the rows of the table of totals, formatted."""
    rows = {row["run"]: row for row in report.answers["totals"]}
    found = []
    for name, key, shown in TOTALS:
        values = [rows.get(letter, {}).get(key) for letter in "ab"[: len(report.runs)]]
        before, after = values[0], values[-1]
        found.append(
            {
                "name": name,
                "cells": [shown(v) for v in values],
                "ratio": ratio(after / before) if report.compares and before and after and shown is duration else "",
            }
        )
    return found


def sample_text(entry: Row) -> str:
    """Return a digest's sample as text, bad bytes shown as such."""
    sample = entry.get("sample")
    return printable_lines(bytes(sample[:SHOWN_MOST]).decode("utf-8", "backslashreplace")) if sample else ""


def render(report: Report, version: str) -> str:
    """Return the whole page."""
    environment = Environment(
        loader=PackageLoader(__package__.rpartition(".")[0], "analyze/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=duration, count=count, ratio=ratio, pretty=pretty, printable=printable, sample=sample_text
    )
    shares: dict[str, int] = {}
    for row in report.answers["accounting"]:
        shares[row["run"]] = shares.get(row["run"], 0) + row["events"]
    return environment.get_template("report.html.j2").render(
        report=report,
        version=version,
        charts=charts(report),
        totals=totals(report),
        shares=shares,
        percent=percent,
        margin=round(report.margin.ratio * 100),
        margin_us=report.margin.ns // 1000,
    )
