# SPDX-License-Identifier: Apache-2.0
"""Read EXPLAIN FORMAT=JSON: how each table is read and what is done besides; no literals.

MySQL 5.7 to 9 (format 1: nested `table`; format 2: `query_plan` of operations with `inputs`) and MariaDB, whose ANALYZE
adds what was measured (r_rows, r_total_time_ms).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...common.units import count

STEPS = {
    "using_filesort": "sorts",
    "filesort": "sorts",
    "using_temporary_table": "uses a temporary table",
    "temporary_table": "uses a temporary table",
}
# The same of MySQL's format 2, by the access_type of an operation.
OPERATIONS = {
    "sort": "sorts",
    "temp_table_aggregate": "uses a temporary table",
    "materialize": "uses a temporary table",
    "window": "uses a temporary table",
}
# MySQL's format 2: index_access_type -> the access type of EXPLAIN's other formats.
KINDS = {
    "index_scan": "index",
    "index_range_scan": "range",
    "index_lookup": "ref",
    "multi_range_read": "range",
    "pushed_join_ref": "ref",
    "full_text_search": "fulltext",
    "dynamic_index_range_scan": "range",
    "index_skip_scan": "range",
    "group_index_skip_scan": "range",
    "index_merge": "index_merge",
}
MAX_NAME = 200
_ACTUAL = re.compile(r"^[^\n]*\(actual time=[\d.e+-]+\.\.([\d.e+-]+) rows=", re.I)
_UNIQUE = re.compile(r"^(single-row|constant)", re.I)


@dataclass(frozen=True)
class Access:
    """How one table is read. `rows`: as the optimizer estimates; `measured`: as they were, by ANALYZE."""

    table: str
    kind: str
    key: str | None
    rows: int | None
    measured: float | None = None

    @property
    def is_scan(self) -> bool:
        """Whether the whole table or a whole index is read."""
        return self.kind in ("ALL", "index")

    def __str__(self) -> str:
        by = f" by {self.key}" if self.key else ""
        rows = f", {count(self.rows)} rows" if self.rows is not None else ""
        kind = {"ALL": "a full scan", "index": "a full scan of the index"}.get(self.kind, self.kind)
        return f"{kind}{by}{rows}"


@dataclass(frozen=True)
class Plan:
    """What is read of a plan. `cost`: the optimizer's own, of its family and version; `time_ms`: of ANALYZE.

    `message`: why no table is read, as "Impossible WHERE".
    """

    accesses: tuple[Access, ...] = ()
    steps: tuple[str, ...] = ()
    cost: float | None = None
    message: str | None = None
    time_ms: float | None = None


def read_plan(text: str | None) -> Plan:
    """Return what a plan says; an empty one for a text that is no plan."""
    try:
        root = json.loads(text or "")
        if not isinstance(root, dict):
            return Plan()
        found = tuple(_tables(root))
        return Plan(found, tuple(sorted(set(_steps(root)))), _cost(root), _message(root), _time(root))
    except (ValueError, RecursionError):
        return Plan()


def accesses(plan: str) -> list[Access]:
    """Return how the tables of a plan are read, in its order; nothing for a text that is no plan."""
    return list(read_plan(plan).accesses)


def steps(plan: str) -> list[str]:
    """Return what a plan does apart from reading tables: it sorts, it uses a temporary table."""
    return list(read_plan(plan).steps)


def _tables(node: Any) -> Iterator[Access]:
    if isinstance(node, list):
        for part in node:
            yield from _tables(part)
    elif isinstance(node, dict):
        found = _access(node)
        # Of format 2 a table's inputs are read before it; of the others what is inside comes after.
        if found is not None:
            yield found
        for part in node.values():
            yield from _tables(part)


def _access(node: dict[str, Any]) -> Access | None:
    """Return how a node reads a table, None where it reads none."""
    if "table_name" not in node or "access_type" not in node:
        return None
    kind, key = str(node["access_type"])[:MAX_NAME], node.get("key")
    table = str(node["table_name"])[:MAX_NAME]
    if "operation" in node:
        if table == "<temporary>" or kind not in ("table", "index"):
            return None
        key = node.get("index_name")
        kind = _kind(node) if kind == "index" else "ALL"
    rows = node.get("rows_examined_per_scan", node.get("rows", node.get("estimated_rows")))
    measured = _number(node.get("r_rows", node.get("actual_rows")))
    whole = _number(rows)
    shown = None if whole is None else round(min(max(whole, 0), 1e18))
    return Access(table, kind, str(key)[:MAX_NAME] if key else None, shown, measured)


def _kind(node: dict[str, Any]) -> str:
    """Return the access type of an operation on an index."""
    kind = KINDS.get(str(node.get("index_access_type")), str(node.get("index_access_type"))[:MAX_NAME])
    return "eq_ref" if kind == "ref" and _UNIQUE.match(str(node.get("operation", ""))) else kind


def _steps(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from _steps(part)
    elif isinstance(node, dict):
        if "operation" in node and str(node.get("access_type")) in OPERATIONS:
            yield OPERATIONS[str(node["access_type"])]
        for name, part in node.items():
            if name in STEPS and part is not False:
                yield STEPS[name]
            yield from _steps(part)


def _cost(root: dict[str, Any]) -> float | None:
    block, plan = root.get("query_block"), root.get("query_plan", root)
    if isinstance(block, dict):
        info = block.get("cost_info")
        return _number(info.get("query_cost") if isinstance(info, dict) else block.get("cost"))
    return _number(plan.get("estimated_total_cost")) if isinstance(plan, dict) else None


def _message(root: dict[str, Any]) -> str | None:
    block, plan = root.get("query_block"), root.get("query_plan")
    if isinstance(block, dict):
        table = block.get("table")
        found = block.get("message") or (table.get("message") if isinstance(table, dict) else None)
    else:
        found = plan.get("zero_rows_cause") if isinstance(plan, dict) else None
    return str(found)[:MAX_NAME] if found else None


def _time(root: dict[str, Any]) -> float | None:
    block = root.get("query_block")
    return _number(block.get("r_total_time_ms")) if isinstance(block, dict) else None


def measured(text: str | None) -> tuple[float | None, float | None]:
    """Return what ANALYZE measured: milliseconds, and rows read of tables; None where it does not say.

    MariaDB says it as r_ fields of its JSON; MySQL's EXPLAIN ANALYZE is a tree of texts, whose first line is the whole.
    """
    if found := _ACTUAL.search(text or ""):
        return _number(found[1]), None
    plan = read_plan(text)
    rows = [access.measured for access in plan.accesses if access.measured is not None]
    return plan.time_ms, sum(rows) if rows else None


def _number(value: Any) -> float | None:
    """Return a number as JSON or a text has it; None for what is none, or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number == number and abs(number) != float("inf") else None
