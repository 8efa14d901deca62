# SPDX-License-Identifier: Apache-2.0
"""Make the data for the script of the HTML page: one JSON of plain values.

The script inserts every text as plain text.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, get_args

import sqlparse
from markupsafe import Markup

from ...common.text import printable, printable_lines
from ...common.units import MICRO
from ..database import Row
from ..findings.plans import accesses
from ..findings.slower import work_sentence
from ..model import DigestEntry, PlanEntry, Report, ratio_of, sides_of
from ..rows import DigestsRow, DigestTimelineRow, DistributionRow
from .chart_specs import Chart
from .templating import script_json

MIN_FORMATTED = 60  # characters; a shorter statement is readable on one line
MAX_FORMATTED = 10_000  # characters; longer statements stay unformatted because sqlparse is too slow
MAX_FORMATTED_DIGESTS = 400
MAX_TEXT = 4_000
MAX_SAMPLE = 100_000
MAX_TIMELINES = 1_000
MAX_PLAN = 20_000
SideColumn = Literal[
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
]
SIDE_COLUMNS: tuple[SideColumn, ...] = get_args(SideColumn)
Points = dict[str, dict[str, list[list[int]]]]  # the points of a chart by digest and side


def page_data(report: Report, charts: Sequence[Chart] = ()) -> Markup:
    """Return the JSON, safe inside a script element."""
    points = {"distribution": _points(report.details["distribution"])}
    points["over_time"] = _points(report.details["digest_timeline"])
    data = {
        "compares": report.compares,
        "micro": MICRO,
        "charts": [chart._asdict() for chart in charts],
        "digests": [_digest(report, entry, number, points) for number, entry in enumerate(report.digests)],
    }
    return script_json(json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str))


def _points(rows: Sequence[DistributionRow | DigestTimelineRow]) -> Points:
    """Return the points of a chart."""
    digests: Points = defaultdict(dict)
    for row in rows:
        digests[row["digest"]][row["run"]] = row["points"]
    return digests


def _digest(report: Report, entry: DigestEntry, number: int, points: dict[str, Points]) -> Row:
    """Return the page's data of one digest. `number`: its place in the report. `points`: by chart."""
    pair, shift = entry["pair"], entry["shift"]
    shown: Row = {
        "id": entry["digest"],
        "verdict": entry["verdict"],
        "why": f"{entry['why']}; {entry['note']}" if entry["note"] else entry["why"],
        "class": entry["class"],
        "text": printable(entry["text"][:MAX_TEXT]),
        "a": _side(entry["a"]),
        "b": _side(entry["b"]),
        "ratio": _rounded(ratio_of(entry)),
        "low": _rounded(shift["low"] if shift else None),
        "high": _rounded(shift["high"] if shift else None),
        "detectable": _rounded(shift["detectable"] if shift else None),
        "p95": [_rounded(shift["p95_low"] if shift else None), _rounded(shift["p95_high"] if shift else None)],
        "lost": pair["lost_ns"] if pair else None,
        "tail_share": _rounded(pair["tail_share"] if pair else None),
        "distribution": points["distribution"][entry["digest"]],
        "over_time": points["over_time"][entry["digest"]] if number < MAX_TIMELINES else {},
        "errors": _errors(report, entry),
    }
    if number < MAX_FORMATTED_DIGESTS:
        shown["pretty"] = pretty(entry["text"])
    if plan := report.query_plans.get(entry["digest"]):
        shown["plan"] = _plan(plan, report.settings.samples)
    if report.settings.samples and (sample := entry["sample"]):
        shown["sample"] = printable_lines(bytes(sample[:MAX_SAMPLE]).decode("utf-8", "backslashreplace"))
    return shown


def _errors(report: Report, entry: DigestEntry) -> list[Row]:
    """Return the rows of errors.sql of a digest as printable texts."""
    if not entry["new_errors"] + entry["failed_on_both"] and not (entry["b"] or sides_of(entry)[0]).get("errors"):
        return []
    return [
        {name: printable(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in report.answers["errors"]
        if row["digest"] == entry["digest"]
    ]


def _side(row: DigestsRow | None) -> Row | None:
    return None if row is None else {name.removesuffix("_ns"): row[name] for name in SIDE_COLUMNS}


def _plan(plan: PlanEntry, samples: bool) -> Row:
    """Return a digest's plans as texts.

    Whole plans and messages are included only with `samples`, because they contain literals.
    """
    shown: Row = {"changes": plan["changes"], "work": work_sentence(plan), "server_digest": plan["server_digest"]}
    for letter, side in (("a", plan["a"]), ("b", plan["b"])):
        of_side: Row = {
            "tables": [f"{access.table}: {access}" for access in accesses(side.get("json", ""))],
            "error": printable(error) if samples and (error := side.get("error")) else None,
        }
        if samples:
            of_side["tree"] = printable_lines((side.get("tree") or side.get("json") or "")[:MAX_PLAN])
        shown[letter] = of_side
    return shown


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def pretty(sql: str) -> str:
    """Return a statement formatted over several lines. Short statements and very long statements keep their form."""
    if len(sql) <= MIN_FORMATTED:
        return printable_lines(sql)
    if len(sql) > MAX_FORMATTED:
        return printable_lines(sql[:MAX_SAMPLE])
    return printable_lines(str(sqlparse.format(sql, reindent=True, keyword_case="upper")))
