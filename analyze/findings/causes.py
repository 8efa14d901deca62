# SPDX-License-Identifier: Apache-2.0
"""Join what differs between the servers with the statements that changed: which may be the cause of which."""

import re
from collections.abc import Iterator
from dataclasses import replace

from ..database import AnalysisDatabase, Row
from ..model import Report, ServerDifference, Servers
from ..verdicts.verdict import CANNOT_TELL, ERRORS, SLOWER, UNSTABLE
from .column_use import compares
from .errors import NEW_ERRORS, ON_BOTH
from .plan_json import accesses, steps
from .results import unexplained
from .telling import is_durability

CHANGED = (SLOWER, ERRORS, UNSTABLE)
NEW = frozenset(NEW_ERRORS) - {ON_BOTH}
# Settings that act on statements that sort or keep rows aside, by what their plans do.
BY_STEP = {
    "sort_buffer_size": "sorts",
    "read_rnd_buffer_size": "sorts",
    "tmp_table_size": "uses a temporary table",
    "max_heap_table_size": "uses a temporary table",
}
# Errors that sql_mode decides about.
OF_SQL_MODE = frozenset({1055, 1056, 1067, 1140, 1264, 1265, 1292, 1364, 1365, 1366, 1406, 1411, 3065})
# What a changed statement does with the thing, for one and for more.
DOING = {
    "sql_mode": ("fails with an error that it decides about", "fail with errors that it decides about"),
    "setting": ("sorts or keeps rows aside", "sort or keep rows aside"),
    "durability": ("writes or commits", "write or commit"),
    "index": ("uses it", "use it"),
    "column": ("names it", "name it"),
    "event": ("is on its table", "are on its table"),
    "table": ("reads or writes it", "read or write it"),
}
# Classes of statements that wait for what durability costs.
DURABLE = frozenset({"write", "transaction", "ddl"})
OF_NEW_COLUMNS = frozenset({"charset", "collation"})
OF_PLANS = frozenset({"rows", "cardinality", "updated"})  # facts of the optimizer's: they make nothing fail
ON_IT = ("is on it", "are on it")
_ALL_COLUMNS = re.compile(r"\bselect\s+(distinct\s+)?\*|\.\s*\*", re.I)
_SORTS = re.compile(r"\b(order|group) by\b", re.I)


def tables_of_digests(database: AnalysisDatabase) -> dict[str, frozenset[str]]:
    """Return the bare names, in lower case, of the tables that each digest names."""
    rows = database.con.execute("SELECT digest, tables FROM tape_digest WHERE tables IS NOT NULL").fetchall()
    return {digest: frozenset(bare(name) for name in tables if name) for digest, tables in rows}


def bare(table: str) -> str:
    """Return a table's name in lower case, without schema and back quotes."""
    return table.replace("`", "").rpartition(".")[2].lower()


def may_be_slower(report: Report, entry: Row) -> bool:
    """Whether a digest took longer in B, beyond the margin, and can't be judged by its times."""
    margin, pair = report.settings.margin, entry.get("pair") or {}
    ratio = (entry.get("shift") or {}).get("ratio") or pair.get("ratio")
    if entry["verdict"] not in (CANNOT_TELL, UNSTABLE) or not ratio:
        return False
    return bool(ratio > 1 + margin.ratio and (pair.get("lost_ns") or 0) > margin.ns)


def with_causes(report: Report) -> Servers:
    """Return the servers' differences with the changed digests that each may explain; those that explain some first."""
    different = {row["digest"] for row in unexplained(report)}
    certain, untold = set(), set()
    for entry in report.digests:
        if entry["verdict"] in CHANGED or entry["digest"] in different:
            certain.add(entry["digest"])
        elif may_be_slower(report, entry):
            untold.add(entry["digest"])
    tables = {digest: report.tables.get(digest, frozenset()) for digest in certain | untold}
    of_mode = {
        row["digest"] for row in report.answers.get("errors", ()) if row["what"] in NEW and row["after"] in OF_SQL_MODE
    }
    waiting = {
        entry["digest"]
        for entry in report.digests
        if entry.get("class") in DURABLE and (entry["verdict"] in (SLOWER, UNSTABLE) or entry["digest"] in untold)
    }
    failing = {entry["digest"] for entry in report.digests if entry["verdict"] == ERRORS} - different
    stepping = {step: {digest for digest in tables if does(report, digest, step)} for step in set(BY_STEP.values())}

    def explained(difference: ServerDifference) -> ServerDifference:
        if difference.name == "sql_mode":
            found = of_mode
        elif difference.kind == "setting" and is_durability(difference.name):
            found = waiting
        elif difference.kind == "setting":
            found = stepping.get(BY_STEP.get(difference.name, ""), set())
        else:
            found = {digest for digest, names in tables.items() if concerns(report, difference, digest, names)}
            if for_plans_only(difference):
                found -= failing
        return replace(difference, changed=tuple(sorted(found & certain)), untold=tuple(sorted(found & untold)))

    rows = [explained(difference) for difference in report.servers.differences]
    return replace(report.servers, differences=tuple(sorted(rows, key=_telling)))


def _telling(row: ServerDifference) -> tuple[bool, int, bool]:
    # A lost index before the buffer that a statement sorts in for want of it, whatever else that buffer may explain.
    return row.folded, 0 if row.changed else 1 if row.untold else 2, row.kind == "setting"


def differences_of(report: Report, digest: str) -> Iterator[ServerDifference]:
    """Yield the differences of the servers that may explain what a digest does in B, most telling first."""
    return (each for each in report.servers.differences if digest in each.changed or digest in each.untold)


def for_plans_only(difference: ServerDifference) -> bool:
    """Whether a difference acts on query plans only, as statistics do."""
    return difference.kind in ("statistics", "histogram") or difference.name.rpartition(" ")[2] in OF_PLANS


def concerns(report: Report, difference: ServerDifference, digest: str, tables: frozenset[str]) -> bool:
    """Whether a difference of a table can matter to a statement on it.

    An index matters where a plan of either side uses it, a column where the statement names it or reads all; its
    collation where the statement compares its values. A table's own character set and collation are for new columns.
    """
    if not difference.table or difference.table.lower() not in tables:
        return False
    place, _, fact = difference.name.partition(" ")
    name = place.rpartition(".")[2]
    if difference.kind == "table" and fact in OF_NEW_COLUMNS:
        return False
    if difference.kind == "index":
        plans = plans_known(report, digest)
        return not plans or any(access.key == name for plan in plans for access in accesses(plan))
    if difference.kind == "column":
        text = text_of(report, digest)
        if fact == "collation":
            return compares(text, name)
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
    kind = "durability" if difference.kind == "setting" and is_durability(difference.name) else difference.kind
    doing = DOING.get(difference.name) or DOING.get(kind, ON_IT)
    said = [
        f"{n:,} statement{'' if n == 1 else 's'} that {what} {doing[n != 1]}"
        for n, what in ((len(difference.changed), "changed"), (len(difference.untold), "may be slower"))
        if n
    ]
    return f"{difference.text}: {'; '.join(said)}" if said else difference.text
