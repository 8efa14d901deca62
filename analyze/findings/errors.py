# SPDX-License-Identifier: Apache-2.0
"""Classify the differences in errors, count B's new errors, and find errors that follow from other errors.

The outcome on the tape is treated like the outcome of a side. A root error is a failed CREATE, ALTER or SET that later
statements depend on.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ..cause_table import errnos_by, of_error
from ..model import bare_name
from ..rows import ErrorsRow

ON_BOTH = "both"  # `what` of errors.sql: both sides fail, but the event succeeded on the tape
NEW_ERRORS = ("new", "changed", ON_BOTH)
# Texts for the column `what` of errors.sql.
WORDS = {
    "new": "new",
    "changed": "changed",
    ON_BOTH: "fails on both sides, but not on the tape",
    "gone": "gone",
    "same": "same",
}
# Error numbers for a missing object: tables and views, then routines, then columns and indexes of a table.
NO_TABLE, NO_ROUTINE, NO_PART = errnos_by("table"), errnos_by("routine"), errnos_by("column", "index")
_NAME = r"((?:`[^`]+`|[\w$]+)(?:\s*\.\s*(?:`[^`]+`|[\w$]+))?)"
_MADE = re.compile(
    r"(?:create\b(?:\s+(?!table|view|procedure|function)\S+)*?\s+(table|view|procedure|function)"
    r"(?:\s+if\s+not\s+exists)?|(alter|rename)\s+table)\s+" + _NAME,
    re.I,
)


def by_digest(rows: Iterable[ErrorsRow], *kinds: str) -> Counter[str | None]:
    """Return the number of events with an error of these kinds, by digest."""
    counted: Counter[str | None] = Counter()
    for row in rows:
        if row["what"] in kinds:
            counted[row["digest"]] += row["events"]
    return counted


def on_tape(errno: int | None) -> str:
    """Return the outcome of an event on the tape as one word."""
    return "unknown" if errno is None else "succeeded" if errno == 0 else str(errno)


def roots_of(
    errors: Iterable[ErrorsRow], texts: Mapping[str, str], tables: Mapping[str, frozenset[str]]
) -> dict[str, ErrorsRow]:
    """Return the root error of each digest whose error follows from another statement, or from a SET of its session.

    `errors`: rows of errors.sql. `texts`: normalised statements by digest. `tables`: bare table names by digest.
    """
    new = [(digest, row) for row in errors if row["what"] in NEW_ERRORS and (digest := row["digest"]) is not None]
    makers = {(errnos, name): row for digest, row in new for errnos, name in _makes(texts.get(digest) or "")}
    found = {}
    by_digest = dict(new)
    for digest, row in new:
        text, named = texts.get(digest) or "", tables.get(digest, frozenset())
        for (errnos, name), root in makers.items():
            names_it = name in named or (errnos is NO_ROUTINE and re.search(rf"(?<!\w){re.escape(name)}\W", text, re.I))
            alike = (row["what"] == ON_BOTH) == (root["what"] == ON_BOTH) and root["digest"] != digest
            if row["after"] in errnos and names_it and alike:
                found[digest] = root
        unset = by_digest.get(row["set_digest"] or "")
        follows = row["what"] != ON_BOTH and row["after_set"] == row["events"]
        if unset and follows and _decides(texts.get(row["set_digest"] or "") or "", row["after"]):
            found[digest] = unset
    return found


def _decides(text: str, errno: int | None) -> bool:
    """Return whether a SET changes a setting that can cause this error."""
    line = of_error(errno)
    names = {by.partition(":")[0] for by in line.by} if line else set()
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) for name in names)


def _makes(text: str) -> Iterator[tuple[frozenset[int], str]]:
    """Yield (error numbers, bare name) of the object that a statement creates or alters.

    Later statements fail with one of these errors if the object is missing.
    """
    if (made := _MADE.match(text.strip())) is None:
        return
    kind, changes, name = (made[1] or "").lower(), made[2], bare_name(re.sub(r"\s", "", made[3]))
    if changes:
        yield NO_PART, name
    elif kind in ("table", "view"):
        yield NO_TABLE, name
    else:
        yield NO_ROUTINE, name
