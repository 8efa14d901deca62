# SPDX-License-Identifier: Apache-2.0
"""Write a report or a tape's summary as JSON: stable keys, times in nanoseconds.

docs/report.schema.json is the schema of a report.
"""

import json
from dataclasses import asdict
from typing import Any, cast

from ...common.staged import shown_path
from ...common.units import plain_micro
from ..database import Row
from ..findings.causes import reason_text
from ..findings.headline import answer_of, parts_of, question
from ..findings.plans import accesses
from ..findings.remedies import to_do
from ..findings.slower import cache_use, counted, work_sentence
from ..model import DigestEntry, PlanEntry, Report, Servers
from ..tape_summary import TapeDifference, TapeSummary
from ..verdicts.verdict import ERRORS, FASTER, INCONCLUSIVE, SAME, SLOWER, UNSTABLE
from .workload_sections import without_values

REPORT_VERSION = 2
CUT = ("digests", "accounts")  # lists of a tape summary that are cut to the requested number of rows


def as_dict(report: Report) -> dict[str, Any]:
    """Return the report as plain values."""
    answer = answer_of(report)
    words = (SLOWER, FASTER, SAME, UNSTABLE, INCONCLUSIVE, ERRORS)
    return {
        "report_version": REPORT_VERSION,
        "tape": {
            "path": shown_path(report.tape.path),
            **report.tape.tape_info.get("counts", {}),
            **_samples_of(report),
        },
        "servers": servers_dict(report.servers) if report.compares else None,
        "runs": [
            {"path": shown_path(run.path), "target": run.run_info.get("target"), "partial": run.run_info.get("partial")}
            for run in (*report.a, *report.b)
        ],
        "headline": _sentences(answer._asdict()) if answer else None,
        "query_cache": {letter: use._asdict() for letter, use in cache_use(report).items()},
        **(answer_dict(report) if answer else {"question": None, "parts": None, "to_do": None}),
        "verdicts": {word: report.count(word) for word in words} if report.compares else None,
        "margin": {"ratio": report.settings.margin.ratio, "ns": report.settings.margin.ns},
        "trust": [_sentences(finding._asdict()) for finding in report.trust],
        "over_time": [_sentences(observation._asdict()) for observation in report.over_time],
        "variables": report.variables,
        "query_plans": {digest: _plan(plan, report.settings.samples) for digest, plan in report.query_plans.items()},
        "write_counters": report.write_counters,
        "bin_ns": report.bin_ns,
        "digests": [_digest(entry, report.settings.samples) for entry in report.digests],
        **{name: rows for name, rows in report.answers.items() if name not in ("digests", "pairs")},
    }


def answer_dict(report: Report) -> dict[str, Any]:
    """Return the question, the parts of the answer, and the tasks."""
    tasks = [
        {**_sentences(asdict(task)), "events": task.events, "text": plain_micro(task.said())} for task in to_do(report)
    ]
    return {"question": question(report), "parts": [asdict(part) for part in parts_of(report)], "to_do": tasks}


def servers_dict(servers: Servers) -> dict[str, Any]:
    """Return the differences of the servers. `folded` marks differences caused only by the version or family."""
    rows = [{**each.row(), "text": reason_text(each)} for each in servers.differences]
    return {"differences": rows, "more": servers.more, "problem": servers.problem}


def _digest(entry: DigestEntry, samples: bool) -> Row:
    shown: Row = {key: value for key, value in entry.items() if key != "sample"}
    shown.update(_sentences({key: shown[key] for key in ("why", "note") if key in shown}))
    if samples and (sample := entry["sample"]):
        shown["sample"] = bytes(sample).decode("utf-8", "backslashreplace")
    return shown


def _sentences(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with `us` instead of the micro sign in sentences, because programs read them."""
    return {
        key: plain_micro(value)
        if isinstance(value, str)
        else [plain_micro(text) for text in value]
        if key == "notes"
        else value
        for key, value in values.items()
    }


def _samples_of(report: Report) -> Row:
    """Return the number of events of the original tape if this tape has only samples of it (compare --quick)."""
    events = (report.tape.tape_info.get("quick") or {}).get("of_events")
    return {} if events is None else {"samples_of_events": events}


def _plan(plan: PlanEntry, samples: bool) -> Row:
    """Return how each side reads a digest's tables.

    Whole plans are included only with `samples`, because they contain literals.
    """
    shown: Row = {"class": plan["class"], "changes": plan["changes"], "server_digest": plan["server_digest"]}
    shown["work"] = work_sentence(plan) or None
    sides = {"a": plan["a"], "b": plan["b"]}
    shown["counters"] = {letter: counted(side.get("counters")) for letter, side in sides.items()}
    for letter, side in sides.items():
        shown[letter] = side if samples else [vars(access) for access in accesses(side.get("json", ""))]
    return shown


def as_json(report: Report) -> str:
    """Return the report as a JSON text."""
    return _text(as_dict(report))


def tape_summary_json(summary: TapeSummary, top: int, samples: bool = False) -> str:
    """Return the keys of tape.json and the rows of each analysis. The longest lists are cut to `top` rows.

    `samples`: include the literal values of hot rows.
    """
    answers = cast(dict[str, list[Row]], summary.answers)
    rows = {name: rows[:top] if name in CUT else rows for name, rows in answers.items()}
    workload = summary.workload if samples else without_values(summary.workload)
    indexes = {} if summary.indexes is None else {"indexes": summary.indexes}
    return _text({"path": shown_path(summary.tape.path), **summary.tape.info, **rows, "workload": workload, **indexes})


def tape_difference_json(changed: TapeDifference, top: int) -> str:
    """Return the totals of both tapes, and the digests cut to `top` rows."""
    tapes = [shown_path(tape.path) for tape in changed.tapes]
    return _text({"tapes": tapes, "totals": changed.totals, "digests": changed.digests[:top]})


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
