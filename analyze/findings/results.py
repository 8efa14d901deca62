# SPDX-License-Identifier: Apache-2.0
"""Name the ways in which results differ, and find the differences that nothing in the statement explains."""

from collections import Counter
from collections.abc import Iterator

from ...common.units import plural
from ..database import Row
from ..model import Report

# The `reason` of results.sql that no statement holds: the replay itself may be why results differ.
RACE = "perhaps writes of other sessions, whose order is not kept"
MAX_RACED = 0.01  # of a digest's events: above it there is no yes

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
    """Return the digests that return something else, and neither the statement nor the replay's order is why."""
    return {row["digest"] for row in unexplained(report) if row["kind"] != "warnings" and row.get("reason") != RACE}


def raced_sentence(report: Report) -> tuple[str, bool]:
    """Return what is said of results that perhaps differ by the replay's order alone, and whether they are many.

    Many: more than MAX_RACED of the events of a digest. "" where there are none. In few words, without a full stop.
    """
    others = against_b(report)
    raced: Counter[str] = Counter()
    for row in unexplained(report):
        if row.get("reason") == RACE and row["digest"] not in others:
            raced[row["digest"]] += row["events"]
    if not raced:
        return "", False
    sent = {
        entry["digest"]: max(int((entry[side] or {}).get("n") or 0) for side in ("a", "b")) for entry in report.digests
    }
    many = any(events > MAX_RACED * sent.get(digest, 0) for digest, events in raced.items())
    verb = "returns" if len(raced) == 1 else "return"
    return (
        f"{plural(len(raced), 'digest')} {verb} something else ({plural(raced.total(), 'event')}), {RACE}:"
        " --order commit on both sides would tell"
    ), many
