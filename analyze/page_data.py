# SPDX-License-Identifier: Apache-2.0
"""What the HTML page's script reads: one JSON, of plain values; every text in it is shown as text."""

import json

import sqlparse

from .access import accesses
from .masking import printable
from .questions import Row
from .report import Report
from .specs import charts

FORMATTED_MOST = 10_000  # sqlparse stalls on very long statements: those are shown as they are
FORMATTED_DIGESTS = 400
TEXT_MOST = 4_000
SAMPLE_MOST = 100_000
TIMELINES = 1_000
PLAN_MOST = 20_000


def page_data(report: Report) -> str:
    """Return the JSON, fit to stand in a script element."""
    pages = _pages(report)
    found = {
        "compares": report.compares,
        "charts": [{"name": name, "title": title, "spec": spec} for name, title, spec in charts(report)],
        "digests": [_digest(report, entry, number, pages) for number, entry in enumerate(report.digests)],
    }
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _pages(report: Report) -> dict[str, Row]:
    """Return for each digest its distribution and its course, by side."""
    found: dict[str, Row] = {}
    for row in report.pages["distribution"]:
        page = found.setdefault(row["digest"], {"dist": {}, "course": {}})
        page["dist"].setdefault(row["run"], []).append([row["height"], row["n"]])
    for row in report.pages["digest_timeline"]:
        page = found.setdefault(row["digest"], {"dist": {}, "course": {}})
        page["course"].setdefault(row["run"], []).append([row["bin"], row["p50_ns"], row["p95_ns"]])
    return found


def _digest(report: Report, entry: Row, number: int, pages: dict[str, Row]) -> Row:
    page = pages.get(entry["digest"], {"dist": {}, "course": {}})
    pair, shift = entry["pair"] or {}, entry["shift"] or {}
    shown: Row = {
        "id": entry["digest"],
        "verdict": entry["verdict"],
        "why": entry["why"],
        "class": entry["class"],
        "text": printable(entry["text"][:TEXT_MOST]),
        "a": _side(entry["a"]),
        "b": _side(entry["b"]),
        "ratio": _rounded(shift.get("ratio") or pair.get("ratio")),
        "low": _rounded(shift.get("low")),
        "high": _rounded(shift.get("high")),
        "detectable": _rounded(shift.get("detectable")),
        "p95": [_rounded(shift.get("p95_low")), _rounded(shift.get("p95_high"))],
        "lost": pair.get("lost_ns"),
        "tail_share": _rounded(pair.get("tail_share")),
        "dist": page["dist"],
        "course": page["course"] if number < TIMELINES else {},
        "errors": [
            {name: printable(str(row[name])) if isinstance(row[name], str) else row[name] for name in row}
            for row in report.answers["errors"]
            if row["digest"] == entry["digest"]
        ]
        if entry["new_errors"] or (entry["b"] or entry["a"] or {}).get("errors")
        else [],
    }
    if number < FORMATTED_DIGESTS:
        shown["pretty"] = pretty(entry["text"])
    if plan := report.plans.get(entry["digest"]):
        shown["plan"] = _plan(plan, report.samples)
    if report.samples and entry.get("sample"):
        sample = bytes(entry["sample"][:SAMPLE_MOST]).decode("utf-8", "backslashreplace")
        shown["sample"] = printable_lines(sample)
    return shown


def _side(row: Row | None) -> Row | None:
    if row is None:
        return None
    names = ("n", "errors", "total_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns", "rows_sent")
    return {name.removesuffix("_ns"): row[name] for name in (*names, "tape_p50_ns", "tape_p95_ns")}


def _plan(plan: Row, samples: bool) -> Row:
    shown: Row = {"changes": plan["changes"], "server_digest": plan["server_digest"]}
    for side in ("a", "b"):
        found = plan[side]
        shown[side] = {
            "tables": [f"{access.table}: {access}" for access in accesses(found.get("json", ""))],
            "error": printable(found["error"]) if samples and found.get("error") else None,
        }
        if samples:
            shown[side]["tree"] = printable_lines((found.get("tree") or found.get("json") or "")[:PLAN_MOST])
    return shown


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def pretty(sql: str) -> str:
    """Return a statement laid out for reading, or as it is where it is too long for that."""
    if len(sql) > FORMATTED_MOST:
        return printable_lines(sql[:SAMPLE_MOST])
    return printable_lines(str(sqlparse.format(sql, reindent=True, keyword_case="upper")))


def printable_lines(text: str) -> str:
    """Return a text whose only control characters are its newlines."""
    return "\n".join(printable(line) for line in text.split("\n"))
