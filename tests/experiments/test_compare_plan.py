# SPDX-License-Identifier: Apache-2.0
"""The plan file of a comparison and the order of its runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.experiments.compare_plan import ComparePlan

TARGETS = {"a": "mysql://a@h/d", "b": "mysql://b@h/d"}


def test_values_of_the_plan_file_are_unchanged(tmp_path: Path) -> None:
    """An invalid plan file is refused with an error that names the file."""
    plan = ComparePlan(Path("/t.tape"), TARGETS, 3, 1, 10**8, "./r.sh", ("--speed", "2"))
    plan.write(tmp_path / "plan.toml")
    assert ComparePlan.read(tmp_path / "plan.toml") == plan
    for cache in (True, False):
        replace(plan, query_cache=cache).write(tmp_path / "cache.toml")
        assert ComparePlan.read(tmp_path / "cache.toml").query_cache == cache
    wrong: Any = "on"
    with pytest.raises(InputError, match="query_cache: expected true or false, found 'on'"):
        ComparePlan.checked(replace(plan, query_cache=wrong))
    for text in ("tape = 1 2", 'tape = "t"', 'colour = "red"', 'tape = "t"\n[target]\na = "mysql://a@h"'):
        (tmp_path / "wrong.toml").write_text(text)
        with pytest.raises(InputError):
            ComparePlan.read(tmp_path / "wrong.toml")


def test_invalid_pause_names_file_and_expected_format(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('tape = "t"\npause = "soon"\n[target]\na = "mysql://a@h"\nb = "mysql://b@h"\n')
    with pytest.raises(InputError, match=r"plan\.toml: .* expected a duration such as 500ms"):
        ComparePlan.read(path)


def test_order_of_runs() -> None:
    """Warm-up rounds come first. In each round the sides alternate."""
    steps = list(ComparePlan(Path("t"), TARGETS, rounds=2, warmup=1).steps())
    assert [name for _, name in steps] == ["warm-a1.run", "warm-b1.run", "a1.run", "b1.run", "a2.run", "b2.run"]
    assert [side for side, _ in steps] == ["a", "b"] * 3
