# SPDX-License-Identifier: Apache-2.0
"""Classify the differences in results, and find the differences that the statement does not explain."""

from collections import Counter
from collections.abc import Iterator

from ...common.units import plural
from ...schemas.result_names import RESULT_REASONS
from ..model import Report, sides_of
from ..rows import ResultsRow

MAX_UNPROVEN = 0.01  # maximum share of a digest's events with an unproven reason; above it the answer cannot be yes
# Reasons that are possible but not proven.
PERHAPS = frozenset(code for code, reason in RESULT_REASONS.items() if reason.unproven)


def unexplained(report: Report) -> Iterator[ResultsRow]:
    """Yield the rows of results.sql without a known reason."""
    return (row for row in report.answers["results"] if row["known"] is None)


def against_b(report: Report) -> set[str | None]:
    """Return the digests with different results that neither the statement nor the replay can explain."""
    return {row["digest"] for row in unexplained(report) if row["kind"] != "warnings" and not unproven(row)}


def unproven(row: ResultsRow) -> bool:
    """Return whether the reason of a row of results.sql is possible but not proven."""
    return row["reason"] in PERHAPS


def unproven_sentences(report: Report) -> tuple[list[str], bool]:
    """Return a short sentence for each unproven reason of different results, and whether these events are many.

    Events are many if they exceed MAX_UNPROVEN of the events of a digest. The sentences have no full stop.
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
