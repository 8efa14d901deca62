# SPDX-License-Identifier: Apache-2.0
"""Write HTML pages that open from disk: for a report, a tape, a sweep or a plans folder.

Each page is one file that needs no network. Every text is escaped, or inserted as plain text by the script.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ...common.text import printable_lines
from ...common.units import count, duration, plural, whole_percents
from ...common.version import __version__
from ..findings.plans import FAILS, SCAN, accesses
from ..findings.servers import value_texts
from ..findings.trust import where_measured
from ..model import PlanSide, Report, Servers
from ..plans_report import PlansReport, servers_of
from ..sweep import SweepLevel
from ..tape_summary import TapeSummary
from ..view import Tone, view_of
from .chart_library import chart_library
from .chart_specs import FIRST, Chart, report_charts, sweep_charts
from .error_rows import error_rows
from .page_data import page_data, pretty
from .plans_text import headline_of, numbers_of
from .tape_charts import tape_charts
from .tape_text import limits, name_of, rhythm_lines, size_lines, source_of
from .templating import asset, page_template, script_json
from .totals import totals
from .workload_sections import sections_of

MAX_DIGESTS = 1_000  # digests on the page of a tape
MAX_FORMATTED = 100  # digests of a tape with formatted text
MAX_ROWS = 100  # maximum rows of each other list on the page of a tape
MAX_CHANGED = 2_000  # digests on the page of a plans folder
MAX_PLAN = 20_000
MAX_DIFFERENCES = 8  # server differences on the page of a plans folder; the others are folded


def _page(template: str, **values: Any) -> str:
    """Return the page of a template with the values that all pages need."""
    return page_template(template).render(version=__version__, style=asset("report.css"), **values)


def _drawn(template: str, drawn: Sequence[Chart], data: Markup | None = None, **values: Any) -> str:
    """Return a page with charts. `data`: the input of its script, if the script needs more than the charts."""
    known = script_json(json.dumps({"charts": [chart._asdict() for chart in drawn]})) if data is None else data
    return _page(template, draw=asset("charts.js"), library=Markup(chart_library()), data=known, **values)


def as_html(report: Report) -> str:
    """Return the page of a report."""
    charts = report_charts(report)
    return _drawn(
        "report.html.j2",
        charts,
        page_data(report, charts),
        report=report,
        view=view_of(report),
        errors=error_rows(report, 300),
        value_texts=value_texts,
        server_times=[f"{side}_{quantile}_ns" for quantile in ("p50", "p95") for side in ("tape", "a", "b")],
        totals=totals(report),
        groups=groups(report),
        first_charts=sorted(
            (chart for chart in charts if chart.name in FIRST), key=lambda chart: FIRST.index(chart.name)
        ),
        charts=[chart for chart in charts if chart.name not in FIRST],
        texts={entry["digest"]: entry["text"] for entry in report.digests},
        script=asset("report.js"),
    )


def groups(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Return {kind: rows with both sides} from groups.sql."""
    kinds: dict[str, dict[str, dict[str, Any]]] = {}
    for row in report.answers["groups"]:
        entry = kinds.setdefault(row["kind"], {}).setdefault(row["name"], {"name": row["name"], "a": {}, "b": {}})
        entry[row["run"]] = row
    return {kind: list(entries.values()) for kind, entries in kinds.items()}


class Share(NamedTuple):
    """One row of the table of statement classes, as text: name, events, share of events, time, digests."""

    name: str
    events: str
    share: str
    time: str
    digests: str


def tape_page(summary: TapeSummary, samples: bool = False) -> str:
    """Return the page of a tape summary with charts. `samples`: include the literal values of hot rows."""
    charts = tape_charts(summary)
    total_ns = summary.answers["totals"][0]["busy_ns"] or 0
    digests = summary.answers["digests"]
    return _drawn(
        "tape.html.j2",
        charts,
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
    )


def _classes(summary: TapeSummary) -> list[Share]:
    """Return the classes of statements, then the commands without a class. The shares add up to 100 %."""
    classes = summary.answers["classes"]
    others = [row for row in summary.answers["commands"] if row["without_class"]]
    shares = whole_percents([*(row["events"] for row in classes), *(row["without_class"] for row in others)])
    rows = [(row["class"], row["events"], duration(row["duration_ns"]), count(row["digests"])) for row in classes]
    rows += [(row["command"], row["without_class"], "", "") for row in others]
    return [Share(row[0], count(row[1]), share, *row[2:]) for row, share in zip(rows, shares, strict=True)]


def sweep_page(title: str, levels: list[SweepLevel]) -> str:
    """Return the page of a sweep: throughput and latency by number of sessions."""
    charts = sweep_charts(levels)
    return _drawn("sweep.html.j2", charts, title=title, levels=levels, charts=charts)


def plans_page(report: PlansReport, samples: bool = False) -> str:
    """Return the page of a plans folder. `samples`: include whole plans, which contain literal values."""
    rows = [
        {
            **entry,
            "numbers": numbers_of(entry),
            "tone": Tone.BAD if entry["class"] in (FAILS, SCAN) else Tone.WARN,
            "sides": [
                {
                    "letter": letter,
                    "tables": [f"{access.table}: {access}" for access in accesses(side.get("json", ""))],
                    "tree": _whole(side) if samples else None,
                }
                for letter, side in (("A", entry["a"]), ("B", entry["b"]))
            ],
        }
        for entry in report.changed[:MAX_CHANGED]
    ]
    return _page(
        "plans.html.j2",
        report=report,
        rows=rows,
        hidden=max(len(report.changed) - MAX_CHANGED, 0),
        headline=headline_of(report),
        tone="unknown" if report.changed else "yes",
        targets=servers_of(report.folder),
        more_said=_more_differences(report.servers),
    )


def _more_differences(servers: Servers) -> str:
    """Return the text for the number of folded differences, or ""."""
    hidden, folded = max(len(servers.shown) - MAX_DIFFERENCES, 0), len(servers.folded)
    if not hidden and not folded:
        return ""
    return f"{plural(hidden + servers.more, 'more difference')}, {count(folded)} caused only by the version"


def _whole(plan: PlanSide) -> str:
    return printable_lines((plan.get("analyze") or plan.get("tree") or plan.get("json") or "")[:MAX_PLAN])
