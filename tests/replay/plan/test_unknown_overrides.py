# SPDX-License-Identifier: Apache-2.0
"""What --insert-id original and --now original cannot know is counted while the replay is planned."""

from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.make_plan import make_plan
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.rules import Plan, Rules
from querytape.schemas import open_folder

from tests.helpers.planning import fed
from tests.helpers.tapes import MS, SECOND, T0, make_tape

INSERT = {"statement": "INSERT INTO shop.orders VALUES (1)", "class": "write"}


def planned(
    tmp_path: Path, events: list[dict[str, Any]], overrides: Overrides, numbering: set[str], **tape: Any
) -> Plan:
    """Plan a tape whose target has tables that generate ids."""
    path = make_tape(tmp_path / "t.tape", events, **tape)
    (tmp_path / "spill").mkdir()
    (tmp_path / "outcomes").mkdir()
    rules = Rules(allow_writes=True, overrides=overrides)
    catalog = Catalog(numbering=frozenset(numbering))
    return make_plan(open_folder("tape", path), rules, tmp_path / "spill", tmp_path / "outcomes", catalog=catalog)


@pytest.mark.parametrize(
    ("source", "numbering", "unknown"),
    [
        ("slowlog", {"orders"}, 3),
        ("general", {"orders", "b"}, 4),
        ("slowlog", {"other"}, 1),  # no id is generated but for what a text of several statements did
        ("packets", {"orders"}, 1),  # a NULL is known to be none
        ("packets+slowlog", {"orders"}, 3),
    ],
)
def test_unknown_ids(tmp_path: Path, source: str, numbering: set[str], unknown: int) -> None:
    """INSERTs into tables that generate ids, where the source does not know them; failed ones have none."""
    events: list[dict[str, Any]] = [
        INSERT,
        {**INSERT, "insert_id": 5},
        {**INSERT, "statement": "INSERT INTO orders SELECT 1"},
        {**INSERT, "statement": "REPLACE INTO b VALUES (1)"},
        {**INSERT, "errno": 1062},
        {"statement": "INSERT INTO orders VALUES (1); CALL p()", "class": "write", "insert_ids": ""},
        {"statement": "INSERT INTO orders VALUES (1); INSERT INTO b", "class": "write", "insert_ids": "0:5,32:6"},
        {"statement": "UPDATE orders SET a = 1", "class": "write"},
        {"statement": "SELECT 1"},
    ]
    plan = planned(tmp_path, events, Overrides(ids=True), numbering, source=source)
    assert (plan.ids_unknown, plan.now_uncertain) == (unknown, 0)
    assert plan.as_json()["ids_unknown"] == unknown
    sent = fed(plan, "insert_id", "insert_ids")
    assert [row for row in sent if row[0] is not None or row[1] is not None] == [(5, None), (None, "0:5,32:6")]


@pytest.mark.parametrize(("point", "uncertain"), [("wire", 2), ("proxy", 2), ("server", 0)])
def test_uncertain_seconds(tmp_path: Path, point: str, uncertain: int) -> None:
    """Arrived in one second and answered in the next: the server may have taken either."""
    late = T0 + SECOND - MS // 8
    events = [
        {**INSERT, "start_ns": late, "duration_ns": MS},
        {"statement": "SELECT NOW()", "start_ns": late, "duration_ns": 9 * SECOND, "first_byte_ns": MS},
        {"statement": "SELECT NOW()", "start_ns": late, "duration_ns": 9 * SECOND, "first_byte_ns": 10},
        {"statement": "SELECT 1", "start_ns": late, "duration_ns": MS},
        {**INSERT, "start_ns": late + MS, "duration_ns": MS},
    ]
    plan = planned(tmp_path, events, Overrides(clock=True), set(), measuring_point=point)
    assert (plan.ids_unknown, plan.now_uncertain) == (0, uncertain)
