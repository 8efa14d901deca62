# SPDX-License-Identifier: Apache-2.0
"""Tests of the first run.json, which is written before anything is sent."""

from pathlib import Path

from querytape.replay import ReplayOptions, Target
from querytape.replay.run_folder import RunFolder
from querytape.replay.task import ReplayTask, first_info
from querytape.servers.facts import Facts

from tests.helpers.planning import planned


def test_first_run_json_has_tape_target_and_plan(tmp_path: Path) -> None:
    """run.json also has the parameters, but no password."""
    plan = planned(tmp_path, [{"statement": "SELECT 1"}])
    target = Target("app", socket="/s", password="secret")
    options = ReplayOptions(target, tmp_path / "a.run")
    info = first_info(ReplayTask(plan, options, RunFolder(options.output), Facts("8.0", identity="x")))
    assert info["finished"] is False
    assert (info["tape"]["events"], info["target"]["version"], info["target"]["identity"]) == (1, "8.0", "x")
    assert info["read_target"] is None
    assert "secret" not in str(info)
