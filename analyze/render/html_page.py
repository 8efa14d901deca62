# SPDX-License-Identifier: Apache-2.0
"""Write a report as one HTML file that opens from disk: no network; every text is escaped or set as text."""

from typing import Any

from markupsafe import Markup

from ...common.version import __version__
from ..findings.plans import UNKNOWN
from ..findings.servers import value_texts
from ..findings.slower import work_of_writes, work_sentence, work_text
from ..model import Report
from ..view import view_of
from .chart_library import chart_library
from .chart_specs import FIRST, report_charts
from .error_rows import error_rows
from .page_data import page_data
from .templating import asset, page_template
from .totals import totals


def as_html(report: Report) -> str:
    """Return the whole page."""
    charts = report_charts(report)
    return page_template("report.html.j2").render(
        report=report,
        version=__version__,
        view=view_of(report),
        unknown_plan=UNKNOWN,
        errors=error_rows(report, 300),
        value_texts=value_texts,
        work_sentence=work_sentence,
        write_work=work_text(writes, "write") if (writes := work_of_writes(report)) else "",
        totals=totals(report),
        groups=groups(report),
        first_charts=sorted(
            (chart for chart in charts if chart.name in FIRST), key=lambda chart: FIRST.index(chart.name)
        ),
        charts=[chart for chart in charts if chart.name not in FIRST],
        texts={entry["digest"]: entry["text"] for entry in report.digests},
        style=asset("report.css"),
        draw=asset("charts.js"),
        script=asset("report.js"),
        library=Markup(chart_library()),
        data=page_data(report, charts),
    )


def groups(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Return {kind: rows with both sides} of groups.sql."""
    kinds: dict[str, dict[str, dict[str, Any]]] = {}
    for row in report.answers["groups"]:
        entry = kinds.setdefault(row["kind"], {}).setdefault(row["name"], {"name": row["name"], "a": {}, "b": {}})
        entry[row["run"]] = row
    return {kind: list(entries.values()) for kind, entries in kinds.items()}
