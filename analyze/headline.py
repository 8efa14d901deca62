# SPDX-License-Identifier: Apache-2.0
"""The answer to "may we switch?": one word and one sentence, with what it rests on."""

from typing import TYPE_CHECKING

from .masking import printable
from .numbers import count, duration
from .trust import doubt
from .verdict import CANNOT_TELL, ERRORS, SAME, SLOWER, UNSTABLE

if TYPE_CHECKING:
    from .report import Report

YES, NO, UNKNOWN = "yes", "no", "cannot tell"
MOST_UNKNOWN = 0.5  # of the time, in digests of which nothing can be said
TEXT_SHOWN = 60


def headline(report: "Report") -> tuple[str, str] | None:
    """Return (yes, no or cannot tell; why), None where nothing is compared."""
    if not report.compares:
        return None
    if why := doubt(report):
        return UNKNOWN, f"Cannot tell: {why}."
    against = _against(report)
    if against:
        return NO, f"No: {', '.join(against)}.{_worst(report)}"
    total = sum(_time(entry) for entry in report.digests)
    unknown = sum(_time(entry) for entry in report.digests if entry["verdict"] in (UNSTABLE, CANNOT_TELL))
    if not report.digests or unknown > MOST_UNKNOWN * total:
        share = 100 * unknown / total if total else 100
        return UNKNOWN, (
            f"Cannot tell: {share:.0f} % of the time is in statements that are too few or too unsteady to judge."
            " More rounds, or a longer tape, would."
        )
    words = f"{report.count(SAME)} are the same, {report.count('faster')} faster"
    return YES, (
        f"Yes: none of {count(len(report.digests))} digests is slower by more than {report.margin.ratio:.0%} and"
        f" {duration(report.margin.ns)}, none fails newly; {words}."
    )


def _against(report: "Report") -> list[str]:
    found = []
    if n := report.count(SLOWER):
        found.append(f"{count(n)} of {count(len(report.digests))} digests {'is' if n == 1 else 'are'} slower")
    if n := report.count(ERRORS):
        found.append(f"{count(n)} {'fails' if n == 1 else 'fail'} with new errors")
    different = {
        row["digest"] for row in report.answers["results"] if row["known"] is None and row["kind"] != "warnings"
    }
    if different:
        found.append(f"{count(len(different))} {'returns' if len(different) == 1 else 'return'} other results")
    return found


def _worst(report: "Report") -> str:
    slower = [entry for entry in report.digests if entry["verdict"] in (SLOWER, ERRORS)]
    if not slower:
        return ""
    entry = slower[0]
    lost = f", {duration(entry['pair']['lost_ns'])} lost" if entry["verdict"] == SLOWER and entry["pair"] else ""
    return f" First: {printable(entry['text'], TEXT_SHOWN)} ({entry['why']}{lost})."


def _time(entry: dict[str, object]) -> int:
    sides = [side for side in (entry["a"], entry["b"]) if isinstance(side, dict)]
    return max((int(side.get("total_ns") or 0) for side in sides), default=0)
