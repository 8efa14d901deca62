# SPDX-License-Identifier: Apache-2.0
"""Query plans: what differs, in sentences."""

import json

from querytape.analyze.findings.plan_classes import changes
from querytape.analyze.findings.plan_json import accesses


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
