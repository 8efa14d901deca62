# SPDX-License-Identifier: Apache-2.0
"""Write a report as one HTML file that opens from disk: no network; every text is escaped or set as text."""

from typing import Any

from markupsafe import Markup

from ...common.version import __version__
from ...schemas.result_names import RESULT_KINDS, RESULT_REASONS
from ..findings.causes import reason_text
from ..findings.coverage import CAUSES, reason_words
from ..findings.errors import NEW_ERRORS
from ..findings.errors import WORDS as WORDS_OF_ERRORS
from ..findings.headline import CHEAPER, OF_TIME, answer_of, parts_of, question, share
from ..findings.plans import UNKNOWN
from ..findings.remedies import to_do
from ..findings.servers import value_texts
from ..findings.slower import cache_sentence, work_of_writes, work_sentence, work_text
from ..findings.trust import baseline
from ..model import Report
from ..verdicts.verdict import WORDS
from .chart_library import chart_library
from .chart_specs import FIRST, report_charts
from .error_rows import error_rows
from .page_data import page_data
from .templating import asset, page_template
from .totals import totals


def as_html(report: Report) -> str:
    """Return the whole page."""
    events: dict[str, int] = {}
    for row in report.answers["accounting"]:
        events[row["run"]] = events.get(row["run"], 0) + row["events"]
    charts = report_charts(report)
    return page_template("report.html.j2").render(
        report=report,
        version=__version__,
        headline=answer_of(report),
        question=question(report) if report.compares else None,
        parts=parts_of(report) if report.compares else [],
        tasks=to_do(report) if report.compares else [],
        share=share,
        of_time=OF_TIME,
        cheaper=CHEAPER,
        cache=cache_sentence(report) if report.compares else None,
        words=WORDS,
        reason=reason_text,
        reason_words=reason_words,
        unknown_plan=UNKNOWN,
        causes=CAUSES,
        errors=error_rows(report, 300),
        value_texts=value_texts,
        work_sentence=work_sentence,
        write_work=work_text(writes, "write") if (writes := work_of_writes(report)) else "",
        baseline=baseline(report) if report.rounds > 1 else None,
        totals=totals(report),
        groups=groups(report),
        first_charts=sorted(
            (chart for chart in charts if chart.name in FIRST), key=lambda chart: FIRST.index(chart.name)
        ),
        charts=[chart for chart in charts if chart.name not in FIRST],
        events=events,
        texts={entry["digest"]: entry["text"] for entry in report.digests},
        kinds=RESULT_KINDS,
        reasons=RESULT_REASONS,
        new_errors=NEW_ERRORS,
        error_words=WORDS_OF_ERRORS,
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
