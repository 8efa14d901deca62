# SPDX-License-Identifier: Apache-2.0
"""Name the ways in which results differ, and find the differences that nothing in the statement explains."""

from collections import Counter
from collections.abc import Iterator

from ...common.units import plural
from ..database import Row
from ..model import Report

LIMITED = "LIMIT without ORDER BY"
RACE = "perhaps writes of other sessions, whose order is not kept"
CHANGED_ROWS = "an earlier write to its tables changed other rows on one side"
SERVER_WRITES = "an event or trigger that one side has writes to its tables"
# Reasons of results.sql that are not proven, each with what decides it.
PERHAPS = {
    RACE: "--order commit on both sides decides it",
    "perhaps the time, in a condition": "--now original on both sides decides it",
    "perhaps chance, in a condition": "compare the data of both servers",
    "perhaps its session or server, in a condition": "compare the data of both servers",
    "perhaps the time, next to columns": "--now original on both sides decides it",
    "perhaps chance, next to columns": "compare the data of both servers",
    "perhaps its session or server, next to columns": "compare the data of both servers",
    "perhaps LIMIT without ORDER BY": "with ORDER BY it can be compared",
    "perhaps LIMIT without ORDER BY in a subquery": "with ORDER BY it can be compared",
}
MAX_UNPROVEN = 0.01  # of a digest's events: above it there is no yes

# By `kind` of results.sql.
KINDS = {
    "rows": "other number of rows",
    "data": "other data",
    "affected": "other number of affected rows",
    "order": "other order of rows",
    "warnings": "other number of warnings",
}


def unexplained(report: Report) -> Iterator[Row]:
    """Yield the rows of results.sql that no likely reason is known for."""
    return (row for row in report.answers["results"] if row["known"] is None)


def against_b(report: Report) -> set[str]:
    """Return the digests that return something else, and neither the statement nor the replay may be why."""
    return {row["digest"] for row in unexplained(report) if row["kind"] != "warnings" and not unproven(row)}


def unproven(row: Row) -> bool:
    """Whether a row of results.sql may have a reason that is not B, and nothing proves it."""
    return row.get("reason") in PERHAPS


def unproven_sentences(report: Report) -> tuple[list[str], bool]:
    """Return what is said of results that differ for unproven reasons, a sentence for each, and whether they are many.

    Many: more than MAX_UNPROVEN of the events of a digest. In few words, without a full stop.
    """
    others = against_b(report)
    found: dict[str, Counter[str]] = {}
    for row in unexplained(report):
        if unproven(row) and row["kind"] != "warnings" and row["digest"] not in others:
            found.setdefault(row["reason"], Counter())[row["digest"]] += row["events"]
    sent = {
        entry["digest"]: max(int((entry[side] or {}).get("n") or 0) for side in ("a", "b")) for entry in report.digests
    }
    every = sum(found.values(), Counter())
    many = any(events > MAX_UNPROVEN * sent.get(digest, 0) for digest, events in every.items())
    sentences = []
    for reason in filter(found.__contains__, PERHAPS):
        events = found[reason]
        verb = "returns" if len(events) == 1 else "return"
        sentences.append(
            f"{plural(len(events), 'digest')} {verb} something else ({plural(events.total(), 'event')}), {reason}:"
            f" {PERHAPS[reason]}"
        )
    return sentences, many
