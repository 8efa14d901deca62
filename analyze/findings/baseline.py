# SPDX-License-Identifier: Apache-2.0
"""Say how much the rounds of A differ from each other, and what difference that lets be seen."""

from statistics import median_high

from ..model import Report


def baseline(report: Report) -> str:
    """Return both in one sentence, for a report of several rounds."""
    levels = [
        row["relative_latency"]
        for row in report.answers["rounds"]
        if row["run"] == "a" and row["relative_latency"] is not None
    ]
    spread = max(levels, default=1) / min(levels, default=1) - 1
    ratios = [ratio for entry in report.digests if (ratio := (entry["shift"] or {}).get("detectable"))]
    seen = f"; of half of the statements a change of {median_high(ratios) - 1:.0%} would be seen" if ratios else ""
    return f"A's own rounds differ from each other by {spread:.1%}{seen}."
