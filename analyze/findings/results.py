# SPDX-License-Identifier: Apache-2.0
"""Name the ways in which results differ, and find the differences that nothing in the statement explains."""

from collections import Counter
from collections.abc import Iterator

from ...common.units import plural
from ...schemas.result_names import RESULT_REASONS
from ..model import Report, sides_of
from ..rows import ResultsRow

MAX_UNPROVEN = 0.01  # of a digest's events: above it there is no yes
# Reasons that nothing proves.
PERHAPS = frozenset(code for code, reason in RESULT_REASONS.items() if reason.unproven)


def unexplained(report: Report) -> Iterator[ResultsRow]:
    """Yield the rows of results.sql that no likely reason is known for."""
    return (row for row in report.answers["results"] if row["known"] is None)


def against_b(report: Report) -> set[str | None]:
    """Return the digests that return something else, and neither the statement nor the replay may be why."""
    return {row["digest"] for row in unexplained(report) if row["kind"] != "warnings" and not unproven(row)}


def unproven(row: ResultsRow) -> bool:
    """Whether a row of results.sql may have a reason that is not B, and nothing proves it."""
    return row["reason"] in PERHAPS


def unproven_sentences(report: Report) -> tuple[list[str], bool]:
    """Return what is said of results that differ for unproven reasons, a sentence for each, and whether they are many.

    Many: more than MAX_UNPROVEN of the events of a digest. In few words, without a full stop.
    """
    others = against_b(report)
    found: dict[str, Counter[str | None]] = {}
    for row in unexplained(report):
        reason = row["reason"] or ""
        if reason in PERHAPS and row["kind"] != "warnings" and row["digest"] not in others:
            found.setdefault(reason, Counter())[row["digest"]] += row["events"]
    sent: dict[str | None, int] = {
        entry["digest"]: max(side.get("n") or 0 for side in sides_of(entry)) for entry in report.digests
    }
    every = sum(found.values(), Counter())
    many = any(events > MAX_UNPROVEN * sent.get(digest, 0) for digest, events in every.items())
    sentences = []
    for code in filter(found.__contains__, RESULT_REASONS):
        events, why = found[code], RESULT_REASONS[code]
        verb = "returns" if len(events) == 1 else "return"
        sentences.append(
            f"{plural(len(events), 'digest')} {verb} different results ({plural(events.total(), 'event')}):"
            f" {why.words}; {why.unproven}"
        )
    return sentences, many
