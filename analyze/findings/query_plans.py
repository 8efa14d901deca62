# SPDX-License-Identifier: Apache-2.0
"""Compare query plans: how each table is read, by EXPLAIN FORMAT=JSON of MySQL (format 1) and MariaDB; no literals."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...common.units import count
from ...schemas import Folder
from ..database import AnalysisDatabase, Row

STEPS = {
    "using_filesort": "sorts",
    "filesort": "sorts",
    "using_temporary_table": "uses a temporary table",
    "temporary_table": "uses a temporary table",
}


@dataclass(frozen=True)
class Access:
    """How one table is read."""

    table: str
    kind: str
    key: str | None
    rows: int | None

    def __str__(self) -> str:
        by = f" by {self.key}" if self.key else ""
        rows = f", {count(self.rows)} rows" if self.rows is not None else ""
        kind = "a full scan" if self.kind == "ALL" else self.kind
        return f"{kind}{by}{rows}"


def accesses(plan: str) -> list[Access]:
    """Return how the tables of a plan are read, in its order; nothing for a text that is no plan."""
    try:
        return list(_tables(json.loads(plan)))
    except (ValueError, RecursionError):
        return []


def steps(plan: str) -> list[str]:
    """Return what a plan does apart from reading tables: it sorts, it uses a temporary table."""
    try:
        return sorted(set(_steps(json.loads(plan))))
    except (ValueError, RecursionError):
        return []


def _tables(node: Any) -> Iterator[Access]:
    if isinstance(node, list):
        for part in node:
            yield from _tables(part)
    elif isinstance(node, dict):
        if "table_name" in node and "access_type" in node:
            rows = node.get("rows_examined_per_scan", node.get("rows"))
            whole = round(float(rows)) if isinstance(rows, (int, float)) else None
            key = node.get("key")
            yield Access(str(node["table_name"]), str(node["access_type"]), str(key) if key else None, whole)
        for part in node.values():
            yield from _tables(part)


def _steps(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from _steps(part)
    elif isinstance(node, dict):
        for name, part in node.items():
            if name in STEPS and part is not False:
                yield STEPS[name]
            yield from _steps(part)


def changes(before: str, after: str) -> list[str]:
    """Return what differs between two plans of a statement, a sentence for each table and step."""
    sentences, old, new = [], accesses(before), accesses(after)
    old_of, new_of = ({access.table: access for access in plan} for plan in (old, new))
    for table in dict.fromkeys([*old_of, *new_of]):
        a, b = old_of.get(table), new_of.get(table)
        if a is None or b is None:
            sentences.append(f"{table}: {a or 'not read'} -> {b or 'not read'}")
        elif (a.kind, a.key) != (b.kind, b.key):
            sentences.append(f"{table}: {a} -> {b}")
    if not sentences and [a.table for a in old] != [b.table for b in new]:
        sentences.append(f"tables are read in a different order: {', '.join(access.table for access in new)}")
    was, now = steps(before), steps(after)
    sentences += [f"now {step}" for step in now if step not in was]
    sentences += [f"no longer {step}" for step in was if step not in now]
    return sentences


def plans_of(database: AnalysisDatabase, sides: dict[str, list[Folder]]) -> dict[str, Row]:
    """Return {digest: {a: {json, tree, error}, b, server_digest, changes}} of each side's first round with plans."""
    plans: dict[str, Row] = {}
    for letter, rounds in sides.items():
        run = next((run for run in rounds if (run.path / "query_plans.parquet").exists()), None)
        if run is None:
            continue
        for digest, kind, text, error in database.con.execute(f"FROM {run.source('query_plans')}").fetchall():
            entry = plans.setdefault(digest, {"a": {}, "b": {}, "server_digest": {}, "changes": []})
            if kind == "server_digest":
                entry["server_digest"][letter] = text
            elif text is not None:
                entry[letter][kind] = text
            else:
                entry[letter]["error"] = error
    for entry in plans.values():
        if "json" in entry["a"] and "json" in entry["b"]:
            entry["changes"] = changes(entry["a"]["json"], entry["b"]["json"])
    return plans
