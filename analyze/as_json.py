# SPDX-License-Identifier: Apache-2.0
"""The report as JSON: stable keys, times in nanoseconds; docs/report.md names them."""

import json
from typing import Any

from .access import accesses
from .headline import headline
from .questions import Row
from .report import VERSION, Report
from .verdict import CANNOT_TELL, ERRORS, FASTER, SAME, SLOWER, UNSTABLE


def as_dict(report: Report) -> dict[str, Any]:
    """Return the report as plain values."""
    digests = []
    for entry in report.digests:
        shown = {key: value for key, value in entry.items() if key != "sample"}
        if report.samples and entry.get("sample"):
            shown["sample"] = bytes(entry["sample"]).decode("utf-8", "backslashreplace")
        digests.append(shown)
    words = (SLOWER, FASTER, SAME, UNSTABLE, CANNOT_TELL, ERRORS)
    return {
        "report_version": VERSION,
        "tape": {"path": str(report.tape.path), **report.tape.info.get("counts", {})},
        "runs": [
            {"path": str(run.path), "target": run.info.get("target"), "partial": run.info.get("partial")}
            for run in [*report.a, *report.b]
        ],
        "verdicts": {word: report.count(word) for word in words} if report.compares else None,
        "verdict": dict(zip(("answer", "sentence"), found, strict=True)) if (found := headline(report)) else None,
        "margin": {"ratio": report.margin.ratio, "ns": report.margin.ns},
        "course": [{"run": run, "text": text} for run, text in report.course],
        "variables": report.variables,
        "plans": {digest: _plan(entry, report.samples) for digest, entry in report.plans.items()},
        "trust": [{"level": level, "text": text} for level, text in report.trust],
        "bin_ns": report.bin_ns,
        "digests": digests,
        **{name: rows for name, rows in report.answers.items() if name not in ("digests", "pairs")},
    }


def _plan(entry: Row, samples: bool) -> Row:
    """Return how a digest's tables are read on each side; whole plans hold literal values."""
    shown: Row = {"changes": entry["changes"], "server_digest": entry["server_digest"]}
    for side in ("a", "b"):
        plan = entry[side]
        shown[side] = plan if samples else [vars(access) for access in accesses(plan.get("json", ""))]
    return shown


def as_json(report: Report) -> str:
    """Return the report as a JSON text."""
    return json.dumps(as_dict(report), indent=1, ensure_ascii=False, default=str) + "\n"
