# SPDX-License-Identifier: Apache-2.0
"""Tests of the options of a replay, and of the values that the plan, the checks and run.json get from them."""

import json
from pathlib import Path

from querytape.replay import ReplayOptions, Target
from querytape.replay.options import READ_ONLY
from querytape.replay.plan.overrides import Overrides

HERE = Target("app", socket="/s", password="secret")


def test_reads_only_is_the_first_statement_of_each_connection(tmp_path: Path) -> None:
    """The user's own statements follow. A line break in a statement becomes a space."""
    options = ReplayOptions(HERE, tmp_path, init=("SET a = 1,\n b = 2", "SET c = 3"))
    assert options.first_statements == f"{READ_ONLY}\nSET a = 1,  b = 2\nSET c = 3"
    assert ReplayOptions(HERE, tmp_path, allow_writes=True).first_statements is None


def test_rules_are_made_from_the_options(tmp_path: Path) -> None:
    rules = ReplayOptions(HERE, tmp_path, reads_to=HERE, lead_ns=7, allow_writes=True).rules()
    assert (rules.lead_ns, rules.allow_writes, rules.split, rules.commit_order) == (7, True, True, False)


def test_run_json_has_all_parameters_without_the_password(tmp_path: Path) -> None:
    parameters = ReplayOptions(HERE, tmp_path, reads_to=HERE, on_lost="reopen").as_json()
    text = json.dumps(parameters)
    assert "secret" not in text
    assert parameters["on_lost"] == "reopen"
    assert parameters["order_bound_ns"] == 2_000_000_000
    assert parameters["reads_to"] == "app@/s"


def test_sessions_use_the_id_increment_of_the_source(tmp_path: Path) -> None:
    """The option `--insert-id original` sets the increment of each session. The source's increment must be known and
    differ from the target's increment.
    """
    given = ReplayOptions(HERE, tmp_path, allow_writes=True, overrides=Overrides(ids=True), init=("SET a = 1",))
    want = "SET SESSION auto_increment_increment = 3, SESSION auto_increment_offset = 2\nSET a = 1"
    assert given.with_steps((3, 2), (1, 1)).first_statements == want
    assert given.with_steps((3, 2), None).first_statements == want
    assert given.with_steps((3, 2), (3, 2)) == given.with_steps(None, (1, 1)) == given
    plain = ReplayOptions(HERE, tmp_path)
    assert plain.with_steps((3, 2), (1, 1)) == plain
