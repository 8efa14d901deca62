# SPDX-License-Identifier: Apache-2.0
"""The summary of any cut of the sessions, made by separate steps and merged, gives the same report."""

import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.analyze import Settings, as_json, build
from querytape.analyze.model import Step, Work

from tests.helpers.tiers import mostly_long

from .test_any_order import Inputs, small, tied, varied

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[small, varied, tied], ids=lambda make: make.__name__)
def inputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    made: Inputs = request.param(tmp_path_factory.mktemp("shares"))
    return made


def report_of(inputs: Inputs, two: bool, settings: Settings) -> str:
    """Return the report on one run or on both sides as JSON."""
    tape, a, b = inputs
    return as_json(build(tape, a, b if two else (), settings))


@pytest.mark.parametrize("two", [True, False], ids=["two", "one"])
@pytest.mark.parametrize("seed", mostly_long(range(6), 0, 3))
def test_report_does_not_depend_on_the_cut(inputs: Inputs, two: bool, seed: int, tmp_path: Path) -> None:
    """The number of shares and the sessions of each share are random. Some shares have no session."""
    chance = random.Random(seed)
    settings = Settings(keep_summary=False, skip_ns=chance.choice((0, 1_000_000)))
    work = Work(tmp_path, chance.choice((1, 2, 3, 5, 9)), seed=chance.randrange(1 << 30))
    assert report_of(inputs, two, replace(settings, work=work)) == report_of(inputs, two, settings)


def test_repeated_step_gives_the_same_files(inputs: Inputs, tmp_path: Path) -> None:
    """A step whose worker was lost after its end is not done again. A step that was lost before is done again."""
    tape, a, b = inputs
    found: list[Path] = []

    def run(steps: Sequence[Step]) -> list[Path]:
        for step in steps:
            path = step()
            before = {file.name: file.read_bytes() for file in path.iterdir()}
            assert step() == path
            shutil.rmtree(path)
            assert {file.name: len(file.read_bytes()) for file in step().iterdir()}.keys() == before.keys()
            found.append(path)
        return found[-len(steps) :]

    settings = Settings(keep_summary=False)
    made = as_json(build(tape, a, b, replace(settings, work=Work(tmp_path, 2, run))))
    assert made == as_json(build(tape, a, b, settings))
    assert [path.name for path in found] == ["join-0", "join-1", "count-0", "count-1", "choose-0", "choose-1"]
    assert not list(tmp_path.glob("*.tmp"))
