# SPDX-License-Identifier: Apache-2.0
"""Tests of the functions that `compare` and similar commands share."""

from pathlib import Path
from typing import Any

import pytest
from querytape.cli import comparison
from querytape.cli.comparison import options_maker
from querytape.common.errors import InputError
from querytape.experiments.compare_plan import ComparePlan
from querytape.servers.target import Target

from tests.helpers.tapes import make_tape


def test_target_slowlog_option_is_refused_in_a_comparison(tmp_path: Path) -> None:
    plan = ComparePlan(Path("t.tape"), {"a": "mysql://a@h"}, replay=("--target-slowlog",))
    with (
        pytest.raises(InputError, match="--target-slowlog cannot be used in a comparison"),
        options_maker(plan)("a", tmp_path / "r"),
    ):
        pass


def test_each_side_of_a_comparison_starts_with_its_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data folder given for a side overrides the data folder given in the target."""
    started = []

    def start(options: dict[str, Any], stack: object) -> Target:
        started.append(options["target"].data)
        return Target("root", "h")

    monkeypatch.setattr(comparison, "target_of", start)
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    plan = ComparePlan(tape, dict.fromkeys("ab", f"sandbox?data={tmp_path}"))
    make_options = options_maker(plan, {"a": tmp_path / "x", "b": tmp_path / "y"})
    for side in "ab":
        with make_options(side, tmp_path / "r") as options:
            assert options.target_is_disposable
    assert started == [tmp_path / "x", tmp_path / "y"]


def test_invalid_sandbox_is_refused_before_the_first_run() -> None:
    """Side B runs only after side A. An error that appears only at the start of side B would waste the run of side A."""
    plan = ComparePlan(Path("t.tape"), {"a": "sandbox", "b": "sandbox?data=/nowhere"})
    with pytest.raises(InputError, match=r"^--target sandbox: data=/nowhere: no such folder"):
        options_maker(plan)
