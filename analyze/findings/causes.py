# SPDX-License-Identifier: Apache-2.0
"""Join what differs between the servers with the statements that changed: which may be the cause of which."""

import re
from dataclasses import replace

from ..database import AnalysisDatabase
from ..model import Report, ServerDifference, Servers
from ..verdicts.verdict import ERRORS, SLOWER, UNSTABLE
from .plan_json import steps
from .results import unexplained

CHANGED = (SLOWER, ERRORS, UNSTABLE)
# Settings that act on statements that sort or keep rows aside, by what their plans do.
BY_STEP = {
    "sort_buffer_size": "sorts",
    "read_rnd_buffer_size": "sorts",
    "tmp_table_size": "uses a temporary table",
    "max_heap_table_size": "uses a temporary table",
}
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
            table = difference.table.lower()
            found = {digest for digest, names in changed.items() if table and table in names}
        return replace(difference, changed=tuple(sorted(found)))

    rows = [explained(difference) for difference in report.servers.differences]
    return replace(report.servers, differences=tuple(sorted(rows, key=lambda row: (row.folded, not row.changed))))


def does(report: Report, digest: str, step: str) -> bool:
    """Whether a statement takes a step, by its query plans; where there are none, by its text."""
    kept = report.query_plans.get(digest, {})
    known = [side["json"] for letter in ("a", "b") if (side := kept.get(letter)) and "json" in side]
    if known:
        return any(step in steps(plan) for plan in known)
    text = next((entry["text"] for entry in report.digests if entry["digest"] == digest), "")
    return bool(_SORTS.search(text or ""))


def reason_text(difference: ServerDifference) -> str:
    """Return a difference as a sentence, with how many changed statements it may explain."""
    if not difference.changed:
        return difference.text
    n = len(difference.changed)
    doing = "sort or keep rows aside" if difference.kind == "setting" else "read or write the table"
    if n == 1:
        doing = doing.replace("sort or keep", "sorts or keeps").replace("read or write", "reads or writes")
    return f"{difference.text}: {n:,} {'statement that changed ' if n == 1 else 'statements that changed '}{doing}"
