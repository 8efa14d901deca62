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
from querytape.analyze.shares import divide
from querytape.capture.tools.deal import deal
from querytape.capture.tools.gather import gather
from querytape.schemas import open_folder

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape
from tests.helpers.tiers import mostly_long

from .test_any_order import Inputs, small, tied, varied
from .test_run_set import EVENTS, name_tape, outcomes, write_runs

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


def captures(folder: Path, runs: list[Path]) -> list[Path]:
    """Write a set of four captures of different servers, and the runs of these captures. Return the runs."""
    folder.mkdir()
    for events in (60, 120, 180, 240):
        tape = make_tape(folder / f"{events}.tape", EVENTS[:events])
        for slow, path in enumerate(runs):
            path.mkdir(exist_ok=True)
            name_tape(make_run(path / f"{events}.run", tape, outcomes(slow)[:events]), tape)
    gather(folder)
    return runs


@pytest.mark.parametrize("two", [True, False], ids=["two", "one"])
@pytest.mark.parametrize("kind", ["one run", "a run of each tape", "several captures"])
def test_report_does_not_depend_on_the_tapes_of_a_share(kind: str, two: bool, tmp_path: Path) -> None:
    """Each step reads only the tapes of its share, and the runs of these tapes."""
    tape, dealt = tmp_path / "all.tape", tmp_path / "all.set"
    make_tape(tape, EVENTS)
    if kind == "several captures":
        runs = captures(dealt, [tmp_path / f"{slow}.runs" for slow in (0, 1)])
    else:
        deal(tape, 4, dealt)
        if kind == "one run":
            runs = [make_run(tmp_path / f"{slow}.run", tape, outcomes(slow)) for slow in (0, 1)]
        else:
            runs = [write_runs(tmp_path, dealt, f"{slow}.runs", slow) for slow in (0, 1)]
    inputs: Inputs = dealt, runs[:1], runs[1:]
    settings = Settings(keep_summary=False)
    whole = report_of(inputs, two, settings)
    read: list[set[str]] = []

    def run(steps: Sequence[Step]) -> list[Path]:
        order = next(iter(steps)).args[0]  # type: ignore[attr-defined]
        read.append({name for names in order.tapes for name in names})
        return [step() for step in steps]

    for shares in (1, 3, 4):
        work = tmp_path / f"work{shares}"
        work.mkdir()
        assert report_of(inputs, two, replace(settings, work=Work(work, shares, run))) == whole
    assert all(len(names) == 4 for names in read)


def test_tapes_are_divided_by_their_events(tmp_path: Path) -> None:
    """A plain tape, and a set with fewer tapes than shares, are divided by session."""
    folder = tmp_path / "all.set"
    folder.mkdir()
    for number, events in enumerate((10, 50, 30, 25)):
        make_tape(folder / f"{number}.tape", EVENTS[:events])
    gather(folder)
    opened = open_folder("tape", folder)
    assert divide(opened, 2) == (("1.tape", "0.tape"), ("2.tape", "3.tape"))
    assert divide(opened, 5) == divide(open_folder("tape", folder / "0.tape"), 1) == ()


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
