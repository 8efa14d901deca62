# SPDX-License-Identifier: Apache-2.0
"""How quick mode allocates its time. tests/whole/test_quick.py tests it with real servers."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.cli.commands.report import report_command
from querytape.common.errors import InputError, QuerytapeError
from querytape.experiments import quick_compare
from querytape.experiments.compare_plan import ComparePlan
from querytape.experiments.quick_compare import (
    MAX_LAPS,
    QuickOptions,
    allocate,
    compare_quickly,
    probed,
    still_open,
)
from querytape.experiments.quick_selection import WITHOUT_TIME, Questions
from querytape.replay.observe.query_plans import Place

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

S = 1_000_000_000
HEAVY, LIGHT, SOME = "heavy", "light", "some"


def questions() -> Questions:
    """Return three digests with three samples each, sorted by decreasing time."""
    places = [Place(digest, 1, 10 * n + k) for n, digest in enumerate((HEAVY, LIGHT, SOME)) for k in range(3)]
    return Questions(places, {HEAVY: (10, 60 * S), LIGHT: (1000, 2 * S), SOME: (5, S)})


def per_digest(laps: dict[Place, int]) -> dict[str, list[int]]:
    """Return the laps of the samples, grouped by digest."""
    return {digest: [n for place, n in laps.items() if place.digest == digest] for digest in {p.digest for p in laps}}


def test_time_is_allocated_to_the_most_expensive_digests() -> None:
    """One statement of each digest comes first, then the other statements, then more laps of cheap statements. The time
    limit is never exceeded.
    """
    costs = {HEAVY: 4.0 * S, LIGHT: 0.001 * S, SOME: 1.0 * S}
    asked = questions()
    laps = per_digest(allocate(asked, costs, (), 100 * S))
    assert laps == {HEAVY: [1, 1, 1], LIGHT: [34] * 3, SOME: [1, 1, 1]}
    assert not asked.left
    tight = per_digest(allocate(asked, costs, (), 31 * S))
    assert tight == {HEAVY: [1], LIGHT: [34] * 3, SOME: [1]}
    spent = sum(6 * costs[digest] * sum(each) for digest, each in tight.items())
    assert spent <= 31 * S
    assert per_digest(allocate(asked, {**costs, LIGHT: 1.0}, (), 100 * S))[LIGHT] == [MAX_LAPS] * 3


def test_digest_that_needs_too_much_time_is_skipped_and_counted() -> None:
    """A lighter digest is selected even if a heavier digest is skipped. A failing digest needs few rounds. At least one
    statement is selected.
    """
    asked = questions()
    laps = allocate(asked, {HEAVY: 20.0 * S, LIGHT: 0.1 * S, SOME: 0.1 * S}, (), 100 * S)
    assert {place.digest for place in laps} == {LIGHT, SOME}
    assert asked.left[WITHOUT_TIME].tape_ns == 60 * S
    assert HEAVY not in asked.digests
    laps = allocate(questions(), {HEAVY: 20.0 * S, LIGHT: 0.1 * S, SOME: 0.1 * S}, {HEAVY}, 100 * S)
    assert {place.digest for place in laps} == {HEAVY, LIGHT, SOME}
    asked = questions()
    assert allocate(asked, {HEAVY: 1000.0 * S}, (), S) == {Place(HEAVY, 1, 0): 1}
    assert asked.left[WITHOUT_TIME].digests == 2, "what was never answered has no cost: it does not fit"


def test_only_undecided_digests_continue_after_the_first_rounds() -> None:
    """Before the sixth round, all digests except failing ones continue. From the sixth round on, only undecided digests
    continue.
    """
    assert still_open("slower", 2)
    assert still_open("unstable", 6)
    assert still_open("inconclusive", 12)
    assert not any(still_open(word, 6) for word in ("slower", "faster", "same"))
    assert not still_open(None, 2)


def test_costs_of_the_first_round(tmp_path: Path) -> None:
    """The cost of a statement is its time on both servers. Digests that failed on either server are listed."""
    events = [{"statement": f"SELECT {n}", "digest": f"{n:016x}"} for n in (1, 2)]
    tape = make_tape(tmp_path / "probe.tape", [*events, {"statement": "SET a = 1", "class": "session"}])
    make_run(tmp_path / "warm-a1.run", tape, [{"sent_ns": 0, "done_ns": 10}, {"sent_ns": 0, "done_ns": 30}, {}])
    failed = {"sent_ns": 0, "done_ns": 20, "errno": 1146}
    make_run(tmp_path / "warm-b1.run", tape, [{"sent_ns": 0, "done_ns": 40}, failed, {}])
    assert probed(tmp_path) == ({f"{1:016x}": 50.0, f"{2:016x}": 50.0}, {f"{2:016x}"})


def test_tape_without_reads_is_refused_with_the_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_compare, "stored_functions", lambda targets: frozenset())
    tape = make_tape(tmp_path / "t.tape", [{"statement": "DELETE FROM t", "class": "write"}])
    with pytest.raises(InputError, match="no statement to send: writes"):
        compare_quickly(ComparePlan(tape, {}), tmp_path / "c", {}, QuickOptions())
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, QuerytapeError("the server went away")])
def test_stopped_quick_comparison_leaves_a_valid_folder(
    error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report on the folder of a stopped comparison states that no round is complete."""

    def stop(*given: object) -> None:
        raise error

    monkeypatch.setattr(quick_compare, "stored_functions", lambda targets: frozenset())
    monkeypatch.setattr(quick_compare._Sender, "send", stop)
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "class": "read", "duration_ns": 1000}])
    plan = ComparePlan(tape, {"a": "mysql://a", "b": "mysql://b"})
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        compare_quickly(plan, tmp_path / "c", {}, QuickOptions())
    told = CliRunner().invoke(report_command, [str(tmp_path / "c")])
    assert isinstance(told.exception, InputError)
    assert "no round is complete" in str(told.exception)
