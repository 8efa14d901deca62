# SPDX-License-Identifier: Apache-2.0
"""Tests that plans are deterministic. Row order, number of threads and the optimizer must not change a plan."""

from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.rules import Rules

from tests.helpers.any_order import VARIANTS, answering, shuffle_files
from tests.helpers.planning import fed, plan_tape
from tests.helpers.tapes import SECOND, make_tape
from tests.helpers.tiers import mostly_long

from .test_commit_order_golden import CASES, CATALOG, busy, coarse
from .test_golden import RULES, adopt_runs, answer, tape_and_runs, tape_events

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seconds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tape with whole seconds, so that many events begin at the same time."""
    events = [row | {"start_ns": row["start_ns"] // SECOND * SECOND} for row in tape_events()]
    return tape_and_runs(tmp_path_factory.mktemp("any_order"), events, precision_ns=SECOND)


@pytest.mark.sampled
@pytest.mark.parametrize("name", mostly_long(RULES, "order", "disordered", "split"))
def test_plan_is_deterministic(name: str, seconds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each rule, the plan has the same sent events, times, connections and excluded events."""
    monkeypatch.chdir(seconds.parent)
    found = []
    for number, variant in enumerate((None, *VARIANTS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        if variant is None:
            found.append(answer(name, seconds, folder))
            continue
        shuffle_files(seconds, variant)
        adopt_runs(seconds)
        with answering(variant):
            found.append(answer(name, seconds, folder))
    assert [number for number, each in enumerate(found) if each != found[0]] == []


@pytest.mark.sampled
@pytest.mark.parametrize("rare", [0.0, 0.15])
@pytest.mark.parametrize(("source", "precision_ns", "durations"), mostly_long(CASES, CASES[0], CASES[-1]))
def test_commit_order_is_deterministic(
    tmp_path: Path, source: str, precision_ns: int, durations: bool, rare: float
) -> None:
    """The tape has times in multiples of 4 ms, so many times are equal."""
    events = coarse(busy(7, durations, rare))
    tape = make_tape(tmp_path / "t.tape", events, 2, precision_ns=precision_ns, source=source)
    usual = waits(tape, tmp_path / "usual")
    assert len(usual) > 100
    for variant in VARIANTS:
        shuffle_files(tape, variant)
        with answering(variant):
            assert waits(tape, tmp_path / str(variant)) == usual


def waits(tape: Path, folder: Path) -> list[tuple[Any, ...]]:
    """Return the waits and the commit numbers of each event."""
    rules = Rules(allow_writes=True, commit_order=True)
    plan = plan_tape(tape, folder, rules, max_rows=40, catalog=CATALOG)
    return [(plan.order_tables, plan.order_notes), *fed(plan, "session", "seq", "waits")]
