# SPDX-License-Identifier: Apache-2.0
"""Query plans and server variables: what differs, in sentences."""

import json

from querytape.analyze.findings.query_plans import accesses, changes, different_variables


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
    assert different_variables({"port": "1", "a": "1", "b": "2"}, {"port": "2", "a": "1", "b": "3"}) == [
        {"name": "b", "a": "2", "b": "3"}
    ]


def test_what_is_no_plan_has_no_accesses() -> None:
    """Broken JSON, other JSON and a nest too deep to read give nothing."""
    assert accesses("{") == accesses("[1, {}]") == accesses("[" * 100_000) == []


def test_variables_that_only_one_server_has_come_last() -> None:
    """None stands for a variable that a server does not have."""
    rows = different_variables({"old": "1", "z": "1"}, {"new": "2", "z": "2", "server_id": "7"})
    assert [(row["name"], row["a"], row["b"]) for row in rows] == [
        ("z", "1", "2"),
        ("new", None, "2"),
        ("old", "1", None),
    ]
