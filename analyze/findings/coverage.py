# SPDX-License-Identifier: Apache-2.0
"""Say how much of the tape the runs did not try: what was not sent, and what failed on every side alike."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...common.units import count
from ..model import Finding, Report, Severity

MAX_MISSING = 0.01  # of what was to be sent: above it there is no yes
# Why an event is skipped although the original sent it and the user did not exclude it; docs/format.md.
LOST_REASONS = frozenset(
    {
        "truncated",
        "redacted",
        "placeholder",
        "no_statement",
        "not_prepared",
        "sql_prepare",
        "unsupported_command",
        "unknown_class",
    }
)
REASONS_SHOWN = 3


def missing_sentences(report: Report) -> list[str]:
    """Return what keeps the answer from being yes, each in a few words: more than MAX_MISSING was not tried."""
    sentences = []
    share, reasons, side = max(_not_sent(report), default=(0.0, "", ""))
    if share > MAX_MISSING:
        sentences.append(f"{_percent(share)} of what was to be sent to {side} was not sent ({reasons})")
    failed = _failed(report)
    if failed["sent"] and failed["failed"] > MAX_MISSING * failed["sent"]:
        sentences.append(f"{_failed_text(report, failed)} and had not failed on the tape")
    return sentences


def coverage(report: Report) -> Iterator[Finding]:
    """Yield a finding for each side of which something was not sent, and one for what failed on every side."""
    for share, reasons, side in _not_sent(report):
        if share:
            severity = Severity.PROBLEM if share > MAX_MISSING else Severity.WARNING
            yield Finding(severity, f"Run {side}: {_percent(share)} of what was to be sent was not sent: {reasons}.")
    failed = _failed(report)
    if failed["failed"]:
        severity = Severity.PROBLEM if failed["failed"] > MAX_MISSING * failed["sent"] else Severity.INFORMATION
        yield Finding(
            severity,
            f"{_failed_text(report, failed)} and had not failed on the tape: of these statements nothing can be said."
            f" The first is session {failed['first_session']}, event {failed['first_seq']}.",
        )


def _not_sent(report: Report) -> Iterator[tuple[float, str, str]]:
    """Yield (share, reasons, side) of each side: of what was sent or should have been, all rounds together."""
    for letter in report.sides:
        lost: Counter[str] = Counter()
        executed = 0
        for row in report.answers["accounting"]:
            if row["run"] != letter:
                continue
            if row["status"] == "executed":
                executed += row["events"]
            elif row["status"] == "not_sent" or (row["status"] == "skipped" and row["reason"] in LOST_REASONS):
                lost[row["reason"] or "unknown"] += row["events"]
        total = lost.total()
        reasons = ", ".join(f"{count(n)} {reason}" for reason, n in lost.most_common(REASONS_SHOWN))
        yield (total / (executed + total) if total else 0.0), reasons, letter.upper()


def _failed(report: Report) -> dict[str, Any]:
    return report.answers["failed_everywhere"][0]


def _failed_text(report: Report, failed: dict[str, Any]) -> str:
    where = "on both sides" if report.compares else "in the run"
    share = _percent(failed["failed"] / failed["sent"])
    return f"{share} of what was sent failed {where} (error {failed['errno']} most often)"


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"
