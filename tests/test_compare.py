# SPDX-License-Identifier: Apache-2.0
"""A comparison's folder: what counts as a round, and plans that are none."""

import json
from pathlib import Path

import pytest
from querytape.compare import ComparePlan, is_complete, runs_of
from querytape.errors import InputError

from tests.runs import make_run
from tests.tapes import make_tape


def test_only_whole_rounds_count(tmp_path: Path) -> None:
    """A run that was killed, stopped, or has no partner is not compared, and later rounds keep their partners."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    for name in ("a1", "b1", "a2", "b2", "a3", "b3", "a4", "warm-a1"):
        make_run(tmp_path / f"{name}.run", tape, [{}])
    stopped = tmp_path / "b2.run" / "run.json"
    stopped.write_text(json.dumps({**json.loads(stopped.read_text()), "partial": "stopped by the user"}))
    (tmp_path / "b4.run").mkdir()  # killed before anything was written
    assert not is_complete(tmp_path / "b4.run")
    assert not is_complete(tmp_path / "b2.run")
    found = runs_of(tmp_path)
    assert [path.name for path in found["a"]] == ["a1.run", "a3.run"]
    assert [path.name for path in found["b"]] == ["b1.run", "b3.run"]


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Written and read again it is the same; what is no plan is refused with its name."""
    plan = ComparePlan(
        Path("/t.tape"), {"a": "mysql://a@h/d", "b": "mysql://b@h/d"}, 3, 1, 10**8, "./r.sh", ("--speed", "2")
    )
    plan.write(tmp_path / "plan.toml")
    assert ComparePlan.read(tmp_path / "plan.toml") == plan
    for text in ("tape = 1 2", 'tape = "t"', 'colour = "red"', 'tape = "t"\n[target]\na = "mysql://a@h"'):
        (tmp_path / "wrong.toml").write_text(text)
        with pytest.raises(InputError):
            ComparePlan.read(tmp_path / "wrong.toml")
