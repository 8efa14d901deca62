# SPDX-License-Identifier: Apache-2.0
"""Query plans: what differs, in sentences."""

import json

from querytape.analyze.findings.plan_classes import SAME, SCAN, UNKNOWN, changes
from querytape.analyze.findings.plan_json import accesses
from querytape.analyze.findings.query_plans import _joined, new_entry


def test_plans_are_compared() -> None:
    """MySQL's and MariaDB's JSON: another index, a full scan, a sort; what is no plan changes nothing."""
    mysql = {"query_block": {"ordering_operation": {"using_filesort": False, "table": {
        "table_name": "t", "access_type": "ref", "key": "b", "rows_examined_per_scan": 3}}}}  # fmt: skip
    maria = {"query_block": {"filesort": {"table": {"table_name": "t", "access_type": "ALL", "rows": 50000}}}}
    assert changes(json.dumps(mysql), json.dumps(maria)) == [
        "t: ref by b, 3 rows -> a full scan, 50,000 rows",
        "now sorts",
    ]
    assert changes(json.dumps(mysql), json.dumps(mysql)) == []
    assert changes("no plan", json.dumps(mysql)) == ["t: not read -> ref by b, 3 rows"]


def test_what_is_no_plan_has_no_accesses() -> None:
    """Broken JSON, other JSON and a nest too deep to read give nothing."""
    assert accesses("{") == accesses("[1, {}]") == accesses("[" * 100_000) == []


def test_samples_without_a_plan_differ_in_nothing() -> None:
    """Of several samples, those whose EXPLAIN failed on both sides say nothing where another one has plans."""
    plan = json.dumps({"query_block": {"table": {"table_name": "t", "access_type": "ALL", "rows": 9}}})
    other = json.dumps({"query_block": {"table": {"table_name": "t", "access_type": "ref", "key": "k", "rows": 9}}})
    no_plan = {"error": "1305 FUNCTION f does not exist"}

    def joined(*pairs: tuple[dict[str, str], dict[str, str]]) -> tuple[str, list[str], int]:
        found = _joined([{**new_entry(), "a": a, "b": b} for a, b in pairs])
        return found["class"], found["changes"], found["differing"]

    failed = (no_plan, no_plan)
    assert joined(failed) == (UNKNOWN, ["EXPLAIN fails on both: error 1305, error 1305"], 0)
    assert joined(failed, ({"json": other}, {"json": other})) == (SAME, [], 0)
    scan = (SCAN, ["t: ref by k, 9 rows -> a full scan, 9 rows"], 1)
    assert joined(failed, ({"json": other}, {"json": plan}), failed) == scan
