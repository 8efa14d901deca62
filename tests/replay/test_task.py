# SPDX-License-Identifier: Apache-2.0
"""What run.json says before anything is sent."""

from pathlib import Path

from querytape.replay import ReplayOptions, Target
from querytape.replay.run_folder import RunFolder
from querytape.replay.task import ReplayTask, first_info
from querytape.servers.facts import Facts

from tests.helpers.planning import planned


def test_the_first_run_json(tmp_path: Path) -> None:
    """Tape, target, parameters and plan are there before anything is sent; no password is."""
    plan = planned(tmp_path, [{"statement": "SELECT 1"}])
    target = Target("app", socket="/s", password="secret")
    options = ReplayOptions(target, tmp_path / "a.run")
    info = first_info(ReplayTask(plan, options, RunFolder(options.output), Facts("8.0", identity="x")))
    assert info["finished"] is False
    assert (info["tape"]["events"], info["target"]["version"], info["target"]["identity"]) == (1, "8.0", "x")
    assert info["read_target"] is None
    assert "secret" not in str(info)
