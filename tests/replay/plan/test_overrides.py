# SPDX-License-Identifier: Apache-2.0
"""Tests of replaced values: clock, generated ids, schemas and accounts."""

from pathlib import Path

import pytest
from querytape.replay.plan.database import open_planner, session_stream
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.rules import Rules
from querytape.servers.option_files import Account

from tests.helpers.planning import fed, planned
from tests.helpers.tapes import T0, flag_bits

pytestmark = pytest.mark.slow


def test_clock_and_ids_of_the_tape_are_used(tmp_path: Path) -> None:
    """Writes and statements that read the current time get the time of the tape. Ids are set if the tape contains them."""
    events = [
        {"statement": "SELECT 1"},
        {"statement": "SELECT Now()"},
        {"statement": "INSERT", "class": "write", "insert_id": 41},
        {"statement": "SELECT CURRENT_TIMESTAMP", "flags": flag_bits("timestamp")},
    ]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    rules = Rules(allow_writes=True, overrides=Overrides(clock=True, ids=True))
    at = T0 // 1000
    assert fed(planned(tmp_path / "a", events, rules), "clock_us", "insert_id") == [
        (None, None),
        (at + 1000, None),
        (at + 2000, 41),
        (None, None),
    ]
    assert fed(planned(tmp_path / "b", events, Rules()), "clock_us", "insert_id") == [(None, None)] * 3


def test_schemas_and_accounts_are_mapped(tmp_path: Path) -> None:
    """A user without a mapping becomes the user of the run."""
    events = [
        {"statement": "SELECT 1", "db": "shop", "user": "app"},
        {"command": "init_db", "db": "logs", "user": "app"},
        {"command": "change_user", "db": "shop", "user": "batch"},
        {"session": 2, "statement": "SELECT 1", "db": "x", "user": "other"},
    ]
    accounts = {"app": Account("a", "1"), "batch": Account("b")}
    plan = planned(tmp_path, events, Rules(overrides=Overrides(schemas={"shop": "shop2"}, accounts=accounts)))
    assert fed(plan, "db", "account") == [("shop2", 0), ("logs", 0), ("shop2", 1), ("x", None)]
    assert plan.schemas == {"shop2": 2, "logs": 1, "x": 1}
    with open_planner(plan) as con:
        rows = session_stream(con, plan).fetchall()
    assert [(row[0], row[5]) for row in rows] == [(1, 0), (2, None)]


def test_run_json_shows_accounts_without_passwords() -> None:
    overrides = Overrides(clock=True, schemas={"a": "b"}, accounts={"app": Account("x", "secret")})
    assert overrides.as_json() == {
        "now": "original",
        "insert_id": "target",
        "map_db": {"a": "b"},
        "map_user": {"app": "x"},
    }
    assert overrides.numbered == (("x", "secret"),)
