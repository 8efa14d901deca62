# SPDX-License-Identifier: Apache-2.0
"""Read the query plans of both sides, classify their differences, and join them with the digests.

Plans are EXPLAIN FORMAT=JSON without literals. The plans come from a plans folder, or from the runs, which fetch plans
of their costliest digests. CLASSES lists the classes of differences, the worst first.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, cast

import duckdb

from ...common.units import count, duration
from ...schemas import Folder
from ..database import AnalysisDatabase
from ..model import PlanEntry, PlanSide

STEPS = {
    "using_filesort": "sorts",
    "filesort": "sorts",
    "using_temporary_table": "uses a temporary table",
    "temporary_table": "uses a temporary table",
}
# Steps by the access_type of an operation, in MySQL's EXPLAIN JSON format 2.
OPERATIONS = {
    "sort": "sorts",
    "temp_table_aggregate": "uses a temporary table",
    "materialize": "uses a temporary table",
    "window": "uses a temporary table",
}
# Access types by index_access_type, in MySQL's EXPLAIN JSON format 2.
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
(FAILS, SCAN, ACCESS, INDEX, ORDER, MORE_STEPS, ESTIMATES, FEWER_STEPS, SAME, UNKNOWN) = (
    "fails",
    "now a scan",
    "other access",
    "other index",
    "other join order",
    "now sorts or a temporary table",
    "estimates apart",
    "no longer sorts or a temporary table",
    "same",
    "inconclusive",
)
# All classes of plan differences, worst class first.
CLASSES = (FAILS, SCAN, ACCESS, INDEX, ORDER, MORE_STEPS, ESTIMATES, FEWER_STEPS, UNKNOWN, SAME)
AGREE = (SAME, ESTIMATES)  # classes in which both plans read the tables in the same way
TIMES_APART = 10
MIN_ROWS = 100  # rows; smaller estimates are treated as equal
_ROWS = re.compile(r"\b\d[\d,]*(?= rows\b)")
SINGLE_ROW = frozenset({"const", "eq_ref", "system"})
NOT_ASKED = "not asked: "
# Additional explanation for an error number of EXPLAIN.
MEANINGS = {
    "1792": " (the statement writes, but the session is read-only)",
    "2013": " (the statement was killed at its time limit, or the connection was lost)",
}


@dataclass(frozen=True)
class Access:
    """How a plan reads one table. `rows`: the optimizer's estimate.

    `measured`: the number of rows that ANALYZE counted.
    """

    table: str
    kind: str
    key: str | None
    rows: int | None
    measured: float | None = None

    @property
    def is_scan(self) -> bool:
        """Return whether the plan reads the whole table or a whole index."""
        return self.kind in ("ALL", "index")

    def __str__(self) -> str:
        by = f" by {self.key}" if self.key else ""
        rows = f", {count(self.rows)} rows" if self.rows is not None else ""
        kind = {"ALL": "a full scan", "index": "a full scan of the index"}.get(self.kind, self.kind)
        return f"{kind}{by}{rows}"


@dataclass(frozen=True)
class Plan:
    """The fields of a plan that querytape uses. `time_ms`: total time that ANALYZE measured.

    `cost`: the optimizer's estimate. Its unit depends on the server's family and version. `message`: why no table is
    read, for example "Impossible WHERE".
    """

    accesses: tuple[Access, ...] = ()
    steps: tuple[str, ...] = ()
    cost: float | None = None
    message: str | None = None
    time_ms: float | None = None


class Node(TypedDict, total=False):
    """Fields that are read from an object of a plan, for both JSON formats of MySQL and for MariaDB.

    Values are untrusted.
    """

    table_name: Any
    access_type: Any
    key: Any
    index_name: Any
    index_access_type: Any
    operation: Any
    rows: Any
    rows_examined_per_scan: Any
    estimated_rows: Any
    r_rows: Any
    actual_rows: Any
    query_block: Any
    query_plan: Any
    cost_info: Any
    query_cost: Any
    cost: Any
    estimated_total_cost: Any
    table: Any
    message: Any
    zero_rows_cause: Any
    r_total_time_ms: Any


def read_plan(text: str | None) -> Plan:
    """Return the content of a plan, or an empty plan if the text is not a plan."""
    try:
        root = _node(json.loads(text or ""))
        if root is None:
            return Plan()
        found = tuple(_tables(root))
        return Plan(found, tuple(sorted(set(_steps(root)))), _cost(root), _message(root), _time(root))
    except (ValueError, RecursionError):
        return Plan()


def accesses(plan: str) -> list[Access]:
    """Return the table accesses of a plan in the plan's order, or an empty list if the text is not a plan."""
    return list(read_plan(plan).accesses)


def steps(plan: str) -> list[str]:
    """Return the steps of a plan that do not read tables, for example sorting."""
    return list(read_plan(plan).steps)


def _tables(node: Any) -> Iterator[Access]:
    if isinstance(node, list):
        for part in node:
            yield from _tables(part)
    elif isinstance(node, dict):
        found = _access(cast(Node, node))
        # A table is yielded before the nodes inside it, although JSON format 2 reads a table's inputs first.
        if found is not None:
            yield found
        for part in node.values():
            yield from _tables(part)


def _access(node: Node) -> Access | None:
    """Return how a node reads a table, or None if the node reads no table."""
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


def _kind(node: Node) -> str:
    """Return the access type of an operation on an index."""
    kind = KINDS.get(str(node.get("index_access_type")), str(node.get("index_access_type"))[:MAX_NAME])
    return "eq_ref" if kind == "ref" and _UNIQUE.match(str(node.get("operation", ""))) else kind


def _steps(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from _steps(part)
    elif isinstance(node, dict):
        operation = cast(Node, node)
        if "operation" in operation and (kind := str(operation.get("access_type"))) in OPERATIONS:
            yield OPERATIONS[kind]
        for name, part in node.items():
            if name in STEPS and part is not False:
                yield STEPS[name]
            yield from _steps(part)


def _node(value: Any) -> Node | None:
    return cast(Node, value) if isinstance(value, dict) else None


def _cost(root: Node) -> float | None:
    if (block := _node(root.get("query_block"))) is not None:
        info = _node(block.get("cost_info"))
        return _number(block.get("cost") if info is None else info.get("query_cost"))
    plan = _node(root.get("query_plan", root))
    return None if plan is None else _number(plan.get("estimated_total_cost"))


def _message(root: Node) -> str | None:
    if (block := _node(root.get("query_block"))) is not None:
        found = block.get("message") or (_node(block.get("table")) or Node()).get("message")
    else:
        found = (_node(root.get("query_plan")) or Node()).get("zero_rows_cause")
    return str(found)[:MAX_NAME] if found else None


def _time(root: Node) -> float | None:
    return _number((_node(root.get("query_block")) or Node()).get("r_total_time_ms"))


def measured(text: str | None) -> tuple[float | None, float | None]:
    """Return the time in ms and the number of table rows that ANALYZE measured. Missing values are None.

    MariaDB reports these values as r_ fields of its JSON. MySQL's EXPLAIN ANALYZE prints a text tree whose first line
    has the total.
    """
    if found := _ACTUAL.search(text or ""):
        return _number(found[1]), None
    plan = read_plan(text)
    rows = [access.measured for access in plan.accesses if access.measured is not None]
    return plan.time_ms, sum(rows) if rows else None


def _number(value: Any) -> float | None:
    """Return a value of JSON or text as a number, or None if it is not a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number == number and abs(number) != float("inf") else None


class Change(NamedTuple):
    """One difference between two plans."""

    word: str
    text: str


def plan_changes(before: str, after: str) -> list[Change]:
    """Return the differences between two plans of a statement, one change per table and step, the worst first."""
    a, b = read_plan(before), read_plan(after)
    found = [*_of_tables(a, b), *_of_steps(a, b)]
    return sorted(found, key=lambda change: CLASSES.index(change.word))


def changes(before: str, after: str) -> list[str]:
    """Return the differences between two plans of a statement as sentences, one per table and step."""
    return [change.text for change in plan_changes(before, after)]


def merged(texts: Iterable[str]) -> list[str]:
    """Return the changes in the given order.

    Changes that differ only in their numbers of rows are merged: `ref by k, 1 to 4 rows`.
    """
    found: dict[str, list[list[int]]] = {}
    for text in texts:
        numbers = [int(number.replace(",", "")) for number in _ROWS.findall(text)]
        found.setdefault(_ROWS.sub("{}", text.replace("{", "{{").replace("}", "}}")), []).append(numbers)
    return [form.format(*map(_range, zip(*numbers, strict=True))) for form, numbers in found.items()]


def _range(numbers: Iterable[int]) -> str:
    every = sorted(numbers)
    return count(every[0]) if every[0] == every[-1] else f"{count(every[0])} to {count(every[-1])}"


def worst(words: list[str]) -> str:
    """Return the worst of these classes, or `same` if the list is empty."""
    return min(words, key=CLASSES.index, default=SAME)


def agreeing(a: Mapping[tuple[str, int], str], b: Mapping[tuple[str, int], str]) -> set[str]:
    """Return the digests whose samples all read their tables in the same way on both sides.

    Samples without a plan on both sides are ignored. `a` and `b`: plans as JSON by digest and sample number.
    """
    words: dict[str, list[str]] = {}
    for digest, number in sorted(a.keys() & b.keys()):
        found = plan_changes(a[digest, number], b[digest, number])
        words.setdefault(digest, []).append(worst([change.word for change in found]))
    return {digest for digest, found in words.items() if worst(found) in AGREE}


def _of_tables(a: Plan, b: Plan) -> list[Change]:
    old_of, new_of = ({access.table: access for access in plan.accesses} for plan in (a, b))
    found = [
        change
        for table in dict.fromkeys([*old_of, *new_of])
        if (change := _of_table(table, old_of.get(table), new_of.get(table), a, b))
    ]
    orders = [[access.table for access in plan.accesses if access.table in old_of.keys() & new_of] for plan in (a, b)]
    if orders[0] != orders[1]:
        found.append(Change(ORDER, f"B reads the tables in a different order: {', '.join(orders[1])}"))
    return found


def _of_table(table: str, a: Access | None, b: Access | None, plan_a: Plan, plan_b: Plan) -> Change | None:
    """Return the difference between two accesses to one table, or None if they are equal."""
    if a is None or b is None:
        word = SCAN if b is not None and b.is_scan and plan_a.accesses else ACCESS
        sides = (a or plan_a.message or "not read", b or plan_b.message or "not read")
        return Change(word, f"{table}: {sides[0]} -> {sides[1]}")
    text = f"{table}: {a} -> {b}"
    if (a.kind, a.key) == (b.kind, b.key):
        return Change(ESTIMATES, text) if _apart(a.rows, b.rows) else None
    if b.is_scan and not a.is_scan:
        return Change(SCAN, text)
    if a.kind == b.kind or {a.kind, b.kind} <= SINGLE_ROW:
        return Change(INDEX, text) if a.key != b.key else None
    return Change(ACCESS, text)


def _apart(a: int | None, b: int | None) -> bool:
    """Return whether two estimates differ by a factor of TIMES_APART and the larger one is at least MIN_ROWS."""
    if a is None or b is None or max(a, b) < MIN_ROWS:
        return False
    return max(a, b) >= TIMES_APART * max(min(a, b), 1)


def _of_steps(a: Plan, b: Plan) -> list[Change]:
    return [
        *(Change(MORE_STEPS, f"now {step}") for step in b.steps if step not in a.steps),
        *(Change(FEWER_STEPS, f"no longer {step}") for step in a.steps if step not in b.steps),
    ]


def measured_text(a: str | None, b: str | None) -> str | None:
    """Return the times and rows that ANALYZE measured on both servers, or None if one of the times is missing."""
    (time_a, rows_a), (time_b, rows_b) = measured(a), measured(b)
    if time_a is None or time_b is None:
        return None
    rows = "" if rows_a is None or rows_b is None else f", {count(rows_a)} -> {count(rows_b)} rows read"
    return f"took {duration(time_a * 1e6)} -> {duration(time_b * 1e6)}{rows}"


def cost_text(a: str | None, b: str | None) -> str | None:
    """Return the cost estimates of both optimizers, or None if one is missing.

    Costs of MySQL and MariaDB are not comparable.
    """
    costs = (read_plan(a).cost, read_plan(b).cost)
    if None in costs:
        return None
    return f"cost {' -> '.join(count(cost) if cost and cost >= 100 else f'{cost:.3g}' for cost in costs)}"


def new_entry() -> PlanEntry:
    """Return a plan entry of a digest that has no plans yet."""
    return {"a": {}, "b": {}, "server_digest": {}, "changes": [], "class": None}


def plans_of(database: AnalysisDatabase, sides: dict[str, list[Folder]]) -> dict[str, PlanEntry]:
    """Return the plan entries by digest, from the first run of each side that has query plans."""
    plans: dict[str, PlanEntry] = {}
    for letter, rounds in sides.items():
        run = next((run for run in rounds if (run.path / "query_plans.parquet").exists()), None)
        if run is None:
            continue
        for digest, kind, text, error in database.con.execute(f"FROM {run.source('query_plans')}").fetchall():
            _add(plans.setdefault(digest, new_entry()), letter, kind, text, error)
    for entry in plans.values():
        _judge(entry)
    return plans


def plans_of_folder(con: duckdb.DuckDBPyConnection, folder: Folder) -> dict[str, PlanEntry]:
    """Return the plan entries of a plans folder by digest.

    If a digest has several samples, the sample with the worst difference is kept.

    `changes` combines the changes of all samples, with the least and the greatest number of rows. `samples`: number of
    samples whose plans were requested. `differing`: number of samples whose plans differ.
    """
    plans: dict[str, PlanEntry] = {}
    samples: dict[int, PlanEntry] = {}
    last = None
    rows = con.execute(
        f"SELECT side, digest, sample, kind, text, error FROM {folder.source('plans')}"
        " ORDER BY digest, sample, side, kind"
    )
    while some := rows.fetchmany(1_000):
        for side, digest, sample, kind, text, error in some:
            if digest != last and last is not None:
                plans[last], samples = _joined(list(samples.values())), {}
            last = digest
            if side in ("a", "b"):
                _add(samples.setdefault(sample, new_entry()), side, kind, text, error)
    if last is not None:
        plans[last] = _joined(list(samples.values()))
    return plans


def _add(entry: PlanEntry, side: str, kind: str, text: str | None, error: str | None) -> None:
    if kind == "server_digest":
        entry["server_digest"][side] = text
    elif text is not None:
        cast(dict[str, str], entry["a" if side == "a" else "b"])[kind] = text
    elif kind == "json":
        entry["a" if side == "a" else "b"]["error"] = error


def _judge(entry: PlanEntry) -> None:
    """Set `class` and `changes` of one statement's plans."""
    found = _compared(entry["a"], entry["b"])
    entry["changes"] = [change.text for change in found]
    entry["class"] = worst([change.word for change in found]) if entry["a"] and entry["b"] else None


def _compared(a: PlanSide, b: PlanSide) -> list[Change]:
    if "json" in a and "json" in b:
        return plan_changes(a["json"], b["json"])
    errors = [(letter, side["error"]) for letter, side in (("A", a), ("B", b)) if side.get("error")]
    if not errors or not a or not b:
        return []
    if any(str(error).startswith(NOT_ASKED) for _, error in errors):
        return [Change(UNKNOWN, str(errors[0][1]))]
    if len(errors) == 2:
        return [Change(UNKNOWN, f"EXPLAIN fails on both: {error_number(errors[0][1])}, {error_number(errors[1][1])}")]
    return [Change(FAILS, f"EXPLAIN fails in {errors[0][0]}: {error_number(errors[0][1])}")]


def error_number(error: object) -> str:
    """Return only the number of an error, because its text may contain literal values."""
    first = str(error).partition(" ")[0]
    if not first.isdigit():
        return "no answer"
    return f"error {first}{MEANINGS.get(first, '')}"


def _joined(samples: list[PlanEntry]) -> PlanEntry:
    """Return one entry that combines all samples of a digest."""
    samples = samples or [new_entry()]
    for sample in samples:
        _judge(sample)
    known = [sample for sample in samples if sample["class"] is not None] or samples
    known = [sample for sample in known if sample["class"] != UNKNOWN] or known
    first = min(known, key=lambda sample: 0 if sample["class"] is None else CLASSES.index(sample["class"]))
    every = dict.fromkeys(text for sample in [first, *known] for text in sample["changes"])
    first["a"] = _with_counters(first["a"], [sample["a"] for sample in samples])
    first["b"] = _with_counters(first["b"], [sample["b"] for sample in samples])
    digests = {side: text for sample in reversed(samples) for side, text in sample["server_digest"].items()}
    differ = sum(bool(sample["changes"]) and sample["class"] != UNKNOWN for sample in known)
    return {**first, "changes": merged(every), "server_digest": digests, "samples": len(samples), "differing": differ}


def _with_counters(side: PlanSide, samples: list[PlanSide]) -> PlanSide:
    """Return a side with the counters of the first sample that has counters."""
    counters = next((sample["counters"] for sample in samples if "counters" in sample), None)
    return side if counters is None else {**side, "counters": counters}
