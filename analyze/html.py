# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that opens from disk: no network; every text is escaped or set as text."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .chart_library import chart_library
from .headline import headline
from .masking import printable
from .numbers import count, duration, percent, ratio
from .page_data import page_data
from .report import Report
from .specs import charts
from .terminal import TOTALS, baseline
from .verdict import WORDS


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


def groups(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Return {kind: rows with both sides} of groups.sql."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in report.answers["groups"]:
        entry = found.setdefault(row["kind"], {}).setdefault(row["name"], {"name": row["name"], "a": {}, "b": {}})
        entry[row["run"]] = row
    return {kind: list(rows.values()) for kind, rows in found.items()}


def render(report: Report, version: str) -> str:
    """Return the whole page."""
    environment = Environment(
        loader=PackageLoader(__package__.rpartition(".")[0], "analyze/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=duration, count=count, ratio=ratio, printable=printable)
    shares: dict[str, int] = {}
    for row in report.answers["accounting"]:
        shares[row["run"]] = shares.get(row["run"], 0) + row["events"]
    found = headline(report)
    return environment.get_template("report.html.j2").render(
        report=report,
        version=version,
        answer=found[0] if found else None,
        sentence=found[1] if found else None,
        words=WORDS,
        baseline=baseline(report) if report.rounds > 1 else None,
        totals=totals(report),
        groups=groups(report),
        chart_titles=[(name, title) for name, title, _ in charts(report)],
        shares=shares,
        percent=percent,
        style=Markup(_template("report.css")),
        script=Markup(_template("report.js")),
        library=Markup(chart_library()),
        data=Markup(page_data(report)),
    )


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")
