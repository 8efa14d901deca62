# SPDX-License-Identifier: Apache-2.0
"""Name the ways in which errors differ, and count those that speak against B: the tape's own outcome is a side."""

from collections import Counter
from collections.abc import Iterable

from ..database import Row

ON_BOTH = "both"  # of errors.sql: both sides fail, and the tape knows that it had succeeded
NEW_ERRORS = ("new", "changed", ON_BOTH)
# By `what` of errors.sql.
WORDS = {
    "new": "new",
    "changed": "changed",
    ON_BOTH: "fails on both, not on the tape",
    "gone": "gone",
    "same": "same",
}


def by_digest(rows: Iterable[Row], *kinds: str) -> Counter[str]:
    """Return how many events of each digest have an error of these kinds."""
    counted: Counter[str] = Counter()
    for row in rows:
        if row["what"] in kinds:
            counted[row["digest"]] += row["events"]
    return counted


def on_tape(errno: int | None) -> str:
    """Return what the tape knows of an event's outcome, in a word."""
    return "unknown" if errno is None else "succeeded" if errno == 0 else str(errno)
