# SPDX-License-Identifier: Apache-2.0
"""Join what differs between the servers with the statements that changed: which may be the cause of which."""

import re
from dataclasses import replace

from ..database import AnalysisDatabase
from ..model import Report, ServerDifference, Servers
from ..verdicts.verdict import ERRORS, SLOWER, UNSTABLE
from .plan_json import accesses, steps
from .results import unexplained

CHANGED = (SLOWER, ERRORS, UNSTABLE)
# Settings that act on statements that sort or keep rows aside, by what their plans do.
BY_STEP = {
    "sort_buffer_size": "sorts",
    "read_rnd_buffer_size": "sorts",
    "tmp_table_size": "uses a temporary table",
    "max_heap_table_size": "uses a temporary table",
}
# What a changed statement does with the thing, for one and for more.
DOING = {
    "setting": ("sorts or keeps rows aside", "sort or keep rows aside"),
    "index": ("uses it", "use it"),
    "column": ("names it", "name it"),
    "table": ("reads or writes it", "read or write it"),
}
_ALL_COLUMNS = re.compile(r"\bselect\s+(distinct\s+)?\*|\.\s*\*", re.I)
_SORTS = re.compile(r"\b(order|group) by\b", re.I)


def tables_of_digests(database: AnalysisDatabase) -> dict[str, frozenset[str]]:
    """Return the bare names, in lower case, of the tables that each digest names."""
    rows = database.con.execute("SELECT digest, tables FROM tape_digest WHERE tables IS NOT NULL").fetchall()
    return {digest: frozenset(bare(name) for name in tables if name) for digest, tables in rows}


def bare(table: str) -> str:
    """Return a table's name in lower case, without schema and back quotes."""
    return table.replace("`", "").rpartition(".")[2].lower()


def with_causes(report: Report) -> Servers:
    """Return the servers' differences with the changed digests that each may explain; those that explain some first."""
    different = {row["digest"] for row in unexplained(report)}
    changed = {
        entry["digest"]: report.tables.get(entry["digest"], frozenset())
        for entry in report.digests
        if entry["verdict"] in CHANGED or entry["digest"] in different
    }
    stepping = {step: {digest for digest in changed if does(report, digest, step)} for step in set(BY_STEP.values())}

    def explained(difference: ServerDifference) -> ServerDifference:
        if difference.kind == "setting":
            found = stepping.get(BY_STEP.get(difference.name, ""), set())
        else:
            found = {digest for digest, names in changed.items() if concerns(report, difference, digest, names)}
        return replace(difference, changed=tuple(sorted(found)))

    rows = [explained(difference) for difference in report.servers.differences]
    return replace(report.servers, differences=tuple(sorted(rows, key=lambda row: (row.folded, not row.changed))))


def concerns(report: Report, difference: ServerDifference, digest: str, tables: frozenset[str]) -> bool:
    """Whether a difference of a table can matter to a statement on it.

    An index matters where a plan of either side uses it, a column where the statement names it or reads all.
    """
    if not difference.table or difference.table.lower() not in tables:
        return False
    name = difference.name.partition(" ")[0].rpartition(".")[2]
    if difference.kind == "index":
        plans = plans_known(report, digest)
        return not plans or any(access.key == name for plan in plans for access in accesses(plan))
    if difference.kind == "column":
        text = text_of(report, digest)
        return bool(_ALL_COLUMNS.search(text)) or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) is not None
    return True


def plans_known(report: Report, digest: str) -> list[str]:
    """Return a statement's query plans as JSON, of both sides, as far as there are any."""
    kept = report.query_plans.get(digest, {})
    return [side["json"] for letter in ("a", "b") if (side := kept.get(letter)) and "json" in side]


def text_of(report: Report, digest: str) -> str:
    """Return a digest's normalised statement."""
    return next((entry["text"] for entry in report.digests if entry["digest"] == digest), "") or ""


def does(report: Report, digest: str, step: str) -> bool:
    """Whether a statement takes a step, by its query plans; where there are none, by its text."""
    if known := plans_known(report, digest):
        return any(step in steps(plan) for plan in known)
    return bool(_SORTS.search(text_of(report, digest)))


def reason_text(difference: ServerDifference) -> str:
    """Return a difference as a sentence, with how many changed statements it may explain."""
    if not difference.changed:
        return difference.text
    n = len(difference.changed)
    one, more = DOING.get(difference.kind, ("is on it", "are on it"))
    return (
        f"{difference.text}: {n:,} {f'statement that changed {one}' if n == 1 else f'statements that changed {more}'}"
    )
