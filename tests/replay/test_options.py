# SPDX-License-Identifier: Apache-2.0
"""The options of a replay: their parts for plan, checks and run.json."""

import json
from pathlib import Path

from querytape.replay import ReplayOptions, Target
from querytape.replay.options import READ_ONLY
from querytape.replay.plan.overrides import Overrides

HERE = Target("app", socket="/s", password="secret")


def test_reads_only_is_told_to_the_server_first(tmp_path: Path) -> None:
    """Every connection begins with it, before the user's own statements; a line's end becomes a blank."""
    options = ReplayOptions(HERE, tmp_path, init=("SET a = 1,\n b = 2", "SET c = 3"))
    assert options.first_statements == f"{READ_ONLY}\nSET a = 1,  b = 2\nSET c = 3"
    assert ReplayOptions(HERE, tmp_path, allow_writes=True).first_statements is None


def test_parts_of_the_options(tmp_path: Path) -> None:
    """The plan gets its rules."""
    rules = ReplayOptions(HERE, tmp_path, reads_to=HERE, lead_ns=7, allow_writes=True).rules()
    assert (rules.lead_ns, rules.allow_writes, rules.split, rules.commit_order) == (7, True, True, False)


def test_parameters_in_run_json(tmp_path: Path) -> None:
    """All that was in force, as JSON, without a password."""
    parameters = ReplayOptions(HERE, tmp_path, reads_to=HERE, on_lost="reopen").as_json()
    text = json.dumps(parameters)
    assert "secret" not in text
    assert parameters["on_lost"] == "reopen"
    assert parameters["order_bound_ns"] == 2_000_000_000
    assert parameters["reads_to"] == "app@/s"


def test_sessions_number_rows_as_the_source_does(tmp_path: Path) -> None:
    """Only where ids are the original's, the source's steps are known, and the target has others."""
    given = ReplayOptions(HERE, tmp_path, allow_writes=True, overrides=Overrides(ids=True), init=("SET a = 1",))
    want = "SET SESSION auto_increment_increment = 3, SESSION auto_increment_offset = 2\nSET a = 1"
    assert given.with_steps((3, 2), (1, 1)).first_statements == want
    assert given.with_steps((3, 2), None).first_statements == want
    assert given.with_steps((3, 2), (3, 2)) == given.with_steps(None, (1, 1)) == given
    plain = ReplayOptions(HERE, tmp_path)
    assert plain.with_steps((3, 2), (1, 1)) == plain
