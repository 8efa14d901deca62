# SPDX-License-Identifier: Apache-2.0
"""Write a tape's summary as one HTML file that opens from disk: the workload, before anything is replayed."""

import json
from typing import NamedTuple

from markupsafe import Markup

from ...common.units import count, duration, whole_percents
from ...common.version import __version__
from ..findings.trust import where_measured
from ..tape_summary import TapeSummary
from .chart_library import chart_library
from .page_data import pretty
from .tape_charts import tape_charts
from .tape_text import limits, name_of, rhythm_lines, size_lines, source_of
from .templating import asset, page_template, script_json
from .workload_sections import sections_of

MAX_DIGESTS = 1_000
MAX_FORMATTED = 100  # digests whose text is laid out for reading
MAX_ROWS = 100  # of each other list


class Share(NamedTuple):
    """One row of the classes: name, events, share of them, time, digests, as they are shown."""

    name: str
    events: str
    share: str
    time: str
    digests: str


def tape_page(summary: TapeSummary, samples: bool = False) -> str:
    """Return the whole page of a summary with pictures; `samples`: with the literal values of hot rows."""
    charts = tape_charts(summary)
    total_ns = summary.answers["totals"][0]["busy_ns"] or 0
    digests = summary.answers["digests"]
    return page_template("tape.html.j2").render(
        name=name_of(summary),
        source=source_of(summary),
        size=size_lines(summary),
        rhythm=rhythm_lines(summary),
        limits=limits(summary),
        charts=charts,
        measured=where_measured(summary.tape.tape_info),
        classes=_classes(summary),
        accounts=summary.answers["accounts"][:MAX_ROWS],
        tables=summary.answers["tables"][:MAX_ROWS],
        digests=[
            {**row, "pretty": pretty(row["normalized"]) if number < MAX_FORMATTED else None}
            for number, row in enumerate(digests[:MAX_DIGESTS])
        ],
        total_ns=total_ns,
        sections=[
            (section, [section.entry(row) for row in rows[:MAX_ROWS]], max(len(rows) - MAX_ROWS, 0))
            for section, rows in sections_of(summary.workload, samples)
        ],
        hidden={
            "digests": max(len(digests) - MAX_DIGESTS, 0),
            "accounts": max(len(summary.answers["accounts"]) - MAX_ROWS, 0),
            "tables": max(len(summary.answers["tables"]) - MAX_ROWS, 0),
        },
        version=__version__,
        style=asset("report.css"),
        draw=asset("charts.js"),
        library=Markup(chart_library()),
        data=script_json(json.dumps({"charts": [chart._asdict() for chart in charts]})),
    )


def _classes(summary: TapeSummary) -> list[Share]:
    """Return classes of statements, then commands without one; the shares add up."""
    classes = summary.answers["classes"]
    others = [row for row in summary.answers["commands"] if row["without_class"]]
    shares = whole_percents([*(row["events"] for row in classes), *(row["without_class"] for row in others)])
    rows = [(row["class"], row["events"], duration(row["duration_ns"]), count(row["digests"])) for row in classes]
    rows += [(row["command"], row["without_class"], "", "") for row in others]
    return [Share(row[0], count(row[1]), share, *row[2:]) for row, share in zip(rows, shares, strict=True)]
