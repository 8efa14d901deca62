# SPDX-License-Identifier: Apache-2.0
"""Make the data of the HTML page's script: one JSON of plain values; the script shows every text in it as text."""

import json
from collections.abc import Sequence

import sqlparse
from markupsafe import Markup

from ...common.text import printable, printable_lines
from ...common.units import MICRO
from ..database import Row
from ..findings.plans import accesses
from ..findings.slower import work_sentence
from ..model import Report
from .chart_specs import Chart
from .templating import script_json

MAX_FORMATTED = 10_000  # characters: sqlparse stalls on very long statements, so those are shown as they are
MAX_FORMATTED_DIGESTS = 400
MAX_TEXT = 4_000
MAX_SAMPLE = 100_000
MAX_TIMELINES = 1_000
MAX_PLAN = 20_000
SIDE_COLUMNS = (
    "n",
    "errors",
    "total_ns",
    "p50_ns",
    "p90_ns",
    "p95_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
    "rows_sent",
    "tape_p50_ns",
    "tape_p95_ns",
)


def page_data(report: Report, charts: Sequence[Chart] = ()) -> Markup:
    """Return the JSON, safe inside a script element."""
    drawn = _drawn(report)
    data = {
        "compares": report.compares,
        "micro": MICRO,
        "charts": [chart._asdict() for chart in charts],
        "digests": [_digest(report, entry, number, drawn) for number, entry in enumerate(report.digests)],
    }
    return script_json(json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str))


def _drawn(report: Report) -> dict[str, Row]:
    """Return for each digest what its two charts draw, by side: the distribution, and the quantiles over time."""
    digests: dict[str, Row] = {}
    for row in report.details["distribution"]:
        drawn = digests.setdefault(row["digest"], {"distribution": {}, "over_time": {}})
        drawn["distribution"].setdefault(row["run"], []).append([row["height"], row["n"]])
    for row in report.details["digest_timeline"]:
        drawn = digests.setdefault(row["digest"], {"distribution": {}, "over_time": {}})
        drawn["over_time"].setdefault(row["run"], []).append([row["bin"], row["p50_ns"], row["p95_ns"]])
    return digests


def _digest(report: Report, entry: Row, number: int, drawn: dict[str, Row]) -> Row:
    """Return what the page shows of the digest with this number in the report's order."""
    charts = drawn.get(entry["digest"], {"distribution": {}, "over_time": {}})
    pair, shift = entry["pair"] or {}, entry["shift"] or {}
    shown: Row = {
        "id": entry["digest"],
        "verdict": entry["verdict"],
        "why": f"{entry['why']}; {entry['note']}" if entry["note"] else entry["why"],
        "class": entry["class"],
        "text": printable(entry["text"][:MAX_TEXT]),
        "a": _side(entry["a"]),
        "b": _side(entry["b"]),
        "ratio": _rounded(shift.get("ratio") or pair.get("ratio")),
        "low": _rounded(shift.get("low")),
        "high": _rounded(shift.get("high")),
        "detectable": _rounded(shift.get("detectable")),
        "p95": [_rounded(shift.get("p95_low")), _rounded(shift.get("p95_high"))],
        "lost": pair.get("lost_ns"),
        "tail_share": _rounded(pair.get("tail_share")),
        "distribution": charts["distribution"],
        "over_time": charts["over_time"] if number < MAX_TIMELINES else {},
        "errors": _errors(report, entry),
    }
    if number < MAX_FORMATTED_DIGESTS:
        shown["pretty"] = pretty(entry["text"])
    if plan := report.query_plans.get(entry["digest"]):
        shown["plan"] = _plan(plan, report.settings.samples)
    if report.settings.samples and entry.get("sample"):
        shown["sample"] = printable_lines(bytes(entry["sample"][:MAX_SAMPLE]).decode("utf-8", "backslashreplace"))
    return shown


def _errors(report: Report, entry: Row) -> list[Row]:
    """Return the rows of errors.sql of a digest, their texts printable."""
    if not entry["new_errors"] + entry["failed_on_both"] and not (entry["b"] or entry["a"] or {}).get("errors"):
        return []
    return [
        {name: printable(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in report.answers["errors"]
        if row["digest"] == entry["digest"]
    ]


def _side(row: Row | None) -> Row | None:
    return None if row is None else {name.removesuffix("_ns"): row[name] for name in SIDE_COLUMNS}


def _plan(plan: Row, samples: bool) -> Row:
    """Return a digest's plans as texts; whole plans and messages hold literal values."""
    shown: Row = {"changes": plan["changes"], "work": work_sentence(plan), "server_digest": plan["server_digest"]}
    for letter in ("a", "b"):
        side = plan[letter]
        shown[letter] = {
            "tables": [f"{access.table}: {access}" for access in accesses(side.get("json", ""))],
            "error": printable(side["error"]) if samples and side.get("error") else None,
        }
        if samples:
            shown[letter]["tree"] = printable_lines((side.get("tree") or side.get("json") or "")[:MAX_PLAN])
    return shown


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def pretty(sql: str) -> str:
    """Return a statement laid out for reading, or as it is where it is too long for that."""
    if len(sql) > MAX_FORMATTED:
        return printable_lines(sql[:MAX_SAMPLE])
    return printable_lines(str(sqlparse.format(sql, reindent=True, keyword_case="upper")))
