# SPDX-License-Identifier: Apache-2.0
"""Parsing of EXPLAIN FORMAT=JSON of MySQL 5.7, 8.0 and 9 and of MariaDB 10.11 and 11.8. Each plan change has a class."""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze.findings.plans import (
    ACCESS,
    ESTIMATES,
    FEWER_STEPS,
    INDEX,
    MORE_STEPS,
    ORDER,
    SAME,
    SCAN,
    UNKNOWN,
    Plan,
    _joined,
    accesses,
    changes,
    cost_text,
    measured,
    merged,
    plan_changes,
    read_plan,
    steps,
    worst,
)

from tests.helpers.shapes import plan_of

PLANS = json.loads(Path(__file__).with_name("recorded_plans.json").read_text(encoding="utf-8"))
KINDS = ("mysql57", "mysql80", "mysql9v1", "mysql9v2", "mariadb", "mariadb118", "mariadbanalyze")
T, U = ("t", "ref", "k", 50), ("u", "eq_ref", "PRIMARY", 1)


def recorded_plan(kind: str, name: str) -> Plan:
    """Return a recorded plan. All plans were recorded on the same data."""
    return read_plan(json.dumps(PLANS[f"{kind}_{name}"]))


@pytest.mark.parametrize("kind", KINDS)
def test_plans_of_all_server_versions_give_the_same_fields(kind: str) -> None:
    """Plans of all server versions give the same tables, order and index. A sort or temporary table is found in each
    plan.
    """
    joined = recorded_plan(kind, "join")
    assert [(each.table, each.kind, each.key) for each in joined.accesses] == [("u", "ALL", None), ("o", "ref", "k_u")]
    assert joined.accesses[0].rows == 300
    assert joined.steps == ("sorts", "uses a temporary table")
    (lookup,) = recorded_plan(kind, "ref").accesses
    assert (lookup.table, lookup.kind, lookup.key) == ("o", "ref", "k_u")
    assert {"u", "o"} <= {each.table for each in recorded_plan(kind, "union").accesses}
    nothing = recorded_plan(kind, "nomatch")
    assert nothing.accesses == ()
    assert "const table" in (nothing.message or "")
    assert (joined.cost is None) == (kind in ("mariadb", "mariadbanalyze", "mysql9v2"))


def test_mariadb_analyze_has_rows_and_time() -> None:
    measured = recorded_plan("mariadbanalyze", "join")
    assert [each.measured for each in measured.accesses] == [300, 20]
    assert measured.time_ms is not None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1, {}]",
        "[" * 100_000,
        "null",
        '{"query_block": []}',
        '{"query_plan": [7]}',
        '{"query_block": {"table": {"table_name": {}, "access_type": [], "rows": "x", "key": 7}}}',
        '{"query_block": {"table": {"table_name": "t", "access_type": "ALL", "rows": 1e999}, "cost": "nan"}}',
    ],
)
def test_hostile_plans_raise_nothing_and_give_finite_numbers(text: str) -> None:
    found = read_plan(text)
    assert found.cost is None
    assert all(each.rows is None for each in found.accesses)
    assert accesses(text) == list(found.accesses)
    assert steps(text) == []


def test_measured_rows_and_times_are_read() -> None:
    """MariaDB reports r_ fields, and MySQL prints a tree. Plans without measurements and hostile texts give no numbers."""
    tables = [{"table": {"table_name": "t", "access_type": "ALL", "r_rows": rows}} for rows in (10, 32)]
    mariadb = json.dumps({"query_block": {"r_total_time_ms": 1.5, "nested_loop": tables}})
    assert measured(mariadb) == (1.5, 42)
    tree = "-> Sort: t.a  (cost=0.85 rows=6) (actual time=0.054..0.12 rows=6 loops=1)\n    -> Table scan (actual time=9..9 rows=1"
    assert measured(tree) == (0.12, None)
    for nothing in (json.dumps({"query_block": {}}), "-> Sort (never executed)", "(actual time=..)", "[", "", None):
        assert measured(nothing) == (None, None)


def plan(*tables: tuple[str, str, str | None, int], **more: Any) -> str:
    """Return a plan in MariaDB's format from tuples (table, kind, key, rows)."""
    nested = [
        {"table": {"table_name": t, "access_type": kind, **({"key": key} if key else {}), "rows": rows}}
        for t, kind, key, rows in tables
    ]
    return json.dumps({"query_block": {"nested_loop": nested, **more}})


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (plan(T, U), plan(T, U), []),
        (plan(T, U), plan(("t", "ref", "l", 50), U), [INDEX]),
        (plan(T, U), plan(U, T), [ORDER]),
        (plan(T, U), plan(("t", "range", "k", 50), U), [ACCESS]),
        (plan(T, U), plan(("t", "ALL", None, 50), U), [SCAN]),
        (plan(T, U), plan(("t", "index", "k", 50), U), [SCAN]),
        (plan(("t", "ALL", None, 50)), plan(("t", "index", "k", 50)), [ACCESS]),
        (plan(T, U), plan(T, U, filesort={}), [MORE_STEPS]),
        (plan(T, U, temporary_table={}), plan(T, U), [FEWER_STEPS]),
        (plan(T, U), plan(("t", "ref", "k", 500), U), [ESTIMATES]),
        (plan(T, U), plan(("t", "ref", "k", 499), U), []),
        (plan(T, ("u", "const", "PRIMARY", 1)), plan(T, U), []),
        (plan(T, U), plan(("t", "ALL", None, 50), ("u", "eq_ref", "x", 1), filesort={}), [SCAN, INDEX, MORE_STEPS]),
        (plan(T), plan(message="Impossible WHERE"), [ACCESS]),
    ],
)
def test_each_change_has_a_class_and_the_worst_comes_first(before: str, after: str, words: list[str]) -> None:
    assert [change.word for change in plan_changes(before, after)] == words
    assert worst(words) == (words or [SAME])[0]


def test_plan_texts_name_the_tables_of_both_sides_and_missing_tables() -> None:
    assert changes(plan(T), plan(("t", "ALL", None, 5000))) == ["t: ref by k, 50 rows -> a full scan, 5,000 rows"]
    assert changes(plan(T), plan(message="Impossible WHERE")) == ["t: ref by k, 50 rows -> Impossible WHERE"]


def test_plan_costs_are_shown_if_both_servers_report_a_cost() -> None:
    assert cost_text(plan(T, cost=0.25), plan(T, cost=1234.0)) == "cost 0.25 -> 1,234"
    assert cost_text(plan(T), plan(T, cost=1.0)) is None


def test_changes_that_differ_only_in_rows_are_merged() -> None:
    """A merged plan change shows the minimum and maximum of each number. Changes that concern different tables, indexes
    or steps stay separate.
    """
    texts = [
        "o: ref by k_2, 3 rows -> a full scan, 59,624 rows",
        "now sorts",
        "o: ref by k_2, 1,200 rows -> a full scan, 59,624 rows",
        "o: ref by {k}, 1 rows -> a full scan, 59,624 rows",
        "o: ref by k_2, 1 rows -> a full scan, 59,624 rows",
        "now sorts",
    ]
    assert merged(texts) == [
        "o: ref by k_2, 1 to 1,200 rows -> a full scan, 59,624 rows",
        "now sorts",
        "o: ref by {k}, 1 rows -> a full scan, 59,624 rows",
    ]
    assert merged([]) == []


def test_plan_changes_are_detected() -> None:
    """The JSON plans of MySQL and MariaDB show a different index, a full scan or a sort. An invalid plan shows no
    change.
    """
    mysql = {"query_block": {"ordering_operation": {"using_filesort": False, "table": {
        "table_name": "t", "access_type": "ref", "key": "b", "rows_examined_per_scan": 3}}}}  # fmt: skip
    maria = {"query_block": {"filesort": {"table": {"table_name": "t", "access_type": "ALL", "rows": 50000}}}}
    assert changes(json.dumps(mysql), json.dumps(maria)) == [
        "t: ref by b, 3 rows -> a full scan, 50,000 rows",
        "now sorts",
    ]
    assert changes(json.dumps(mysql), json.dumps(mysql)) == []
    assert changes("no plan", json.dumps(mysql)) == ["t: not read -> ref by b, 3 rows"]


def test_invalid_or_deeply_nested_json_has_no_table_accesses() -> None:
    assert accesses("{") == accesses("[1, {}]") == accesses("[" * 100_000) == []


def test_samples_without_plans_are_ignored() -> None:
    """A sample whose EXPLAIN failed on both sides is ignored if another sample of the digest has plans."""
    plan = json.dumps({"query_block": {"table": {"table_name": "t", "access_type": "ALL", "rows": 9}}})
    other = json.dumps({"query_block": {"table": {"table_name": "t", "access_type": "ref", "key": "k", "rows": 9}}})
    no_plan = {"error": "1305 FUNCTION f does not exist"}

    def joined(*pairs: tuple[dict[str, str], dict[str, str]]) -> tuple[str | None, list[str], int]:
        found = _joined([plan_of({"a": a, "b": b}) for a, b in pairs])
        return found["class"], found["changes"], found["differing"]

    failed = (no_plan, no_plan)
    assert joined(failed) == (UNKNOWN, ["EXPLAIN fails on both: error 1305, error 1305"], 0)
    assert joined(failed, ({"json": other}, {"json": other})) == (SAME, [], 0)
    scan = (SCAN, ["t: ref by k, 9 rows -> a full scan, 9 rows"], 1)
    assert joined(failed, ({"json": other}, {"json": plan}), failed) == scan
