# SPDX-License-Identifier: Apache-2.0
"""Reading EXPLAIN FORMAT=JSON as MySQL 5.7, 8.0 and 9 (both formats) and MariaDB 10.11 and 11.8 wrote it."""

import json
from pathlib import Path

import pytest
from querytape.analyze.findings.plan_json import Plan, accesses, measured, read_plan, steps

HERE = Path(__file__).parent / "explain"
KINDS = ("mysql57", "mysql80", "mysql9v1", "mysql9v2", "mariadb", "mariadb118", "mariadbanalyze")


def plan(kind: str, name: str) -> Plan:
    """Return one of the plans that were recorded on the same data."""
    return read_plan((HERE / f"{kind}_{name}.json").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_every_server_says_the_same(kind: str) -> None:
    """The same tables, in one order, by one index; what sorts or keeps rows aside does; nothing else is read."""
    joined = plan(kind, "join")
    assert [(each.table, each.kind, each.key) for each in joined.accesses] == [("u", "ALL", None), ("o", "ref", "k_u")]
    assert joined.accesses[0].rows == 300
    assert joined.steps == ("sorts", "uses a temporary table")
    (lookup,) = plan(kind, "ref").accesses
    assert (lookup.table, lookup.kind, lookup.key) == ("o", "ref", "k_u")
    assert {"u", "o"} <= {each.table for each in plan(kind, "union").accesses}
    nothing = plan(kind, "nomatch")
    assert nothing.accesses == ()
    assert "const table" in (nothing.message or "")
    assert (joined.cost is None) == (kind in ("mariadb", "mariadbanalyze", "mysql9v2"))


def test_what_was_measured() -> None:
    """MariaDB's ANALYZE tells rows and time."""
    measured = plan("mariadbanalyze", "join")
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
def test_hostile_plans(text: str) -> None:
    """Whatever a server gives, nothing is raised, and numbers are finite."""
    found = read_plan(text)
    assert found.cost is None
    assert all(each.rows is None for each in found.accesses)
    assert accesses(text) == list(found.accesses)
    assert steps(text) == []


def test_what_analyze_measured() -> None:
    """MariaDB's r_ fields, MySQL's tree; of a plan that was not run, a hostile text and none at all: nothing."""
    tables = [{"table": {"table_name": "t", "access_type": "ALL", "r_rows": rows}} for rows in (10, 32)]
    mariadb = json.dumps({"query_block": {"r_total_time_ms": 1.5, "nested_loop": tables}})
    assert measured(mariadb) == (1.5, 42)
    tree = "-> Sort: t.a  (cost=0.85 rows=6) (actual time=0.054..0.12 rows=6 loops=1)\n    -> Table scan (actual time=9..9 rows=1"
    assert measured(tree) == (0.12, None)
    for nothing in (json.dumps({"query_block": {}}), "-> Sort (never executed)", "(actual time=..)", "[", "", None):
        assert measured(nothing) == (None, None)
