# SPDX-License-Identifier: Apache-2.0
"""Answer "may we switch?": one word, and one sentence with what it rests on."""

from typing import NamedTuple

from ...common.text import printable
from ...common.units import count, duration, plural
from ..database import Row
from ..model import Report
from ..verdicts.verdict import CANNOT_TELL, ERRORS, FASTER, SAME, SLOWER, UNSTABLE
from .causes import reason_of, slower_because
from .coverage import few_failed, missing_sentences
from .doubt import doubt
from .results import against_b, unproven_sentences

YES, NO, UNKNOWN = "yes", "no", "cannot tell"
MAX_UNKNOWN = 0.5  # of the time, in digests of which nothing can be said
TEXT_SHOWN = 60


class Headline(NamedTuple):
    """`answer` is yes, no or cannot tell."""

    answer: str
    sentence: str


def headline(report: Report) -> Headline | None:
    """Return the answer and its reason, None where nothing is compared."""
    if not report.compares:
        return None
    if reason := doubt(report):
        return Headline(UNKNOWN, f"Cannot tell: {reason}.")
    missing = missing_sentences(report)
    if reasons := _against(report):
        limits = f" Besides, {'; '.join(missing)}." if missing else ""
        return Headline(NO, f"No: {', '.join(reasons)}.{_worst(report)}{limits}{_untold(report)}")
    if missing:
        return Headline(UNKNOWN, f"Cannot tell: {'; '.join(missing)}.{_untold(report)}")
    total = sum(_time(entry) for entry in report.digests)
    unknown = sum(_time(entry) for entry in report.digests if entry["verdict"] in (UNSTABLE, CANNOT_TELL))
    if not report.digests:
        return Headline(UNKNOWN, "Cannot tell: no statement was sent to either side.")
    if unknown > MAX_UNKNOWN * total:
        share = 100 * unknown / total
        return Headline(
            UNKNOWN,
            f"Cannot tell: {share:.0f} % of the time is in statements that are too few or too unsteady to judge."
            f" Run more rounds, or record a longer tape.{_untold(report)}",
        )
    margin, same, faster = report.settings.margin, report.count(SAME), report.count(FASTER)
    untold = report.count(UNSTABLE) + report.count(CANNOT_TELL)
    left = f", of {untold} it can't be told ({100 * unknown / total:.0f} % of the time)" if untold and total else ""
    return Headline(
        YES,
        f"Yes: none of {count(len(report.digests))} digests is slower by more than {margin.ratio:.0%} and"
        f" {duration(margin.ns)}, none has new errors; {same} are the same, {faster} faster"
        f"{left}."
        f"{few_failed(report)}{few_unproven(report)}{_untold(report)}",
    )


def few_unproven(report: Report) -> str:
    """Return a sentence on results that differ for unproven reasons, "" where there are none."""
    sentences, _ = unproven_sentences(report)
    return f" Besides, {'; '.join(sentences)}." if sentences else ""


def _against(report: Report) -> list[str]:
    """Return what speaks against B, each in a few words: what breaks, what returns something else, what is slower."""
    broken = [entry["new_errors"] for entry in report.digests if entry["verdict"] == ERRORS and entry["new_errors"]]
    different = against_b(report)
    counts = (
        (len(broken), ("has", "have"), f"new errors ({plural(sum(broken), 'event')})"),
        (len(different), ("returns", "return"), "different results"),
        (report.count(SLOWER), ("is", "are"), "slower"),
    )
    reasons = [f"{n:,} {verbs[n != 1]} {what}" for n, verbs, what in counts if n]
    if reasons:
        number, _, rest = reasons[0].partition(" ")
        reasons[0] = f"{number} of {plural(len(report.digests), 'digest')} {rest}"
    return reasons


def _worst(report: Report) -> str:
    """Return a sentence on the most urgent digest, "" where no digest is slower or has new errors."""
    found = (e for e in report.digests if e["verdict"] == SLOWER or (e["verdict"] == ERRORS and e["new_errors"]))
    entry = next(found, None)
    if entry is None:
        return ""
    lost = f", {duration(entry['pair']['lost_ns'])} lost" if entry["verdict"] == SLOWER and entry["pair"] else ""
    if entry["note"]:
        lost = f", {entry['note']}"
    return f" Worst: {printable(entry['text'], TEXT_SHOWN)} ({entry['why']}{lost})."


def _untold(report: Report) -> str:
    """Return a sentence on the largest time lost by a digest of which nothing can be said, "" where none lost any."""
    entries = (entry for entry in report.digests if entry["verdict"] == CANNOT_TELL and entry["pair"])
    entry = max(entries, key=lambda entry: int(entry["pair"]["lost_ns"]), default=None)
    if entry is None or entry["pair"]["lost_ns"] < report.settings.margin.ns:
        return ""
    text, lost = printable(entry["text"], TEXT_SHOWN), duration(entry["pair"]["lost_ns"])
    reason = reason_of(report, entry)
    words = slower_because([reason])
    perhaps = f"; {'perhaps because ' if reason.difference else ''}{words}" if words else ""
    return f" Largest loss that can't be told from chance: {text} ({lost}; {entry['why']}{perhaps})."


def _time(entry: Row) -> int:
    """Return a digest's total service time in ns, of the side where it is greater."""
    return max(int((entry[letter] or {}).get("total_ns") or 0) for letter in ("a", "b"))
