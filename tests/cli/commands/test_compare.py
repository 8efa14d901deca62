# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape compare`: plans made from options, from a file or from an earlier comparison."""

from pathlib import Path
from typing import Any

import click
import pytest
from querytape.cli.commands.compare import plan_of
from querytape.common.errors import InputError
from querytape.experiments.compare_plan import PLAN_FILE

OPTIONS: dict[str, Any] = dict.fromkeys(("add", "plan_file", "rounds", "warmup", "pause_ns", "reset", "query_cache"))
TARGETS = ("a=mysql://app@old/shop", "b=mysql://app@new/shop")


def given(**changed: Any) -> dict[str, Any]:
    return {**OPTIONS, "targets": TARGETS, **changed}


def test_compare_options_and_defaults_make_a_plan(tmp_path: Path) -> None:
    plan = plan_of(Path("t.tape"), ("--pace", "none"), tmp_path / "c", given(rounds=3))
    assert plan.targets == {"a": "mysql://app@old/shop", "b": "mysql://app@new/shop"}
    assert (plan.rounds, plan.warmup, plan.replay) == (3, 0, ("--pace", "none"))
    assert plan.query_cache
    assert plan_of(Path("t.tape"), (), tmp_path / "c", given(query_cache=False)).query_cache is False


def test_add_option_extends_the_plan_of_an_existing_comparison(tmp_path: Path) -> None:
    """`--add` refuses a folder without a plan."""
    output = tmp_path / "c"
    plan = plan_of(Path("t.tape"), (), output, given(rounds=3))
    with pytest.raises(InputError, match="not a comparison"):
        plan_of(None, (), output, given(add=2, targets=()))
    output.mkdir()
    plan.write(output / PLAN_FILE)
    assert plan_of(None, (), output, given(add=2, targets=())).rounds == 5
    with pytest.raises(InputError, match="contains another comparison"):
        plan_of(Path("t.tape"), (), output, given(rounds=4))


def test_invalid_combinations_of_compare_arguments_are_refused(tmp_path: Path) -> None:
    """The combinations are no tape, a plan together with a tape, and added rounds for a comparison of `try`."""
    with pytest.raises(click.UsageError, match="expected a TAPE, --plan, or --add"):
        plan_of(None, (), tmp_path / "c", given())
    with pytest.raises(click.UsageError, match="--plan sets the tape"):
        plan_of(Path("t.tape"), (), tmp_path / "c", given(plan_file=tmp_path / "p.toml"))
    plan_of(Path("t.tape"), (), tmp_path / "q", given()).write(make(tmp_path / "q") / PLAN_FILE)
    text = (tmp_path / "q" / PLAN_FILE).read_text()
    (tmp_path / "q" / PLAN_FILE).write_text('kind = "try"\nddl = ["ALTER TABLE t ADD x INT"]\n' + text)
    with pytest.raises(InputError, match="cannot add rounds to a comparison of kind `try`"):
        plan_of(None, (), tmp_path / "q", given(add=2, targets=()))


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder
