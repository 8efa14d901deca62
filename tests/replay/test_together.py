# SPDX-License-Identifier: Apache-2.0
"""A replay that is alone has its own span and begins by itself; several have one zero."""

from pathlib import Path

from querytape.common.files import new_folder
from querytape.replay.plan.make_plan import make_plan
from querytape.replay.plan.rules import Rules
from querytape.replay.together import ALONE
from querytape.schemas import open_folder

from tests.helpers.tapes import MS, T0, make_tape


def test_a_replay_alone_keeps_its_plan() -> None:
    assert ALONE.span(5, 9) == (5, 9)
    assert not ALONE.holds


def test_a_plan_takes_the_span_of_all(tmp_path: Path) -> None:
    """Its zero is the first moment of all, its length theirs; its own first event is due later by the difference."""
    tape = open_folder("tape", make_tape(tmp_path / "a.tape", [{"start_ns": T0 + 40 * MS, "statement": "SELECT 1"}]))
    given: list[tuple[int, int]] = []

    def span(first_ns: int, last_ns: int) -> tuple[int, int]:
        given.append((first_ns, last_ns))
        return T0, T0 + 1000 * MS

    new_folder(tmp_path / "s", "spill", "outcomes")
    plan = make_plan(tape, Rules(), tmp_path / "s" / "spill", tmp_path / "s" / "outcomes", span=span)
    assert [first for first, _ in given] == [T0 + 40 * MS]
    assert (plan.zero_ns, plan.round_ns) == (T0, 1000 * MS)
    assert 40 * MS <= plan.last_due_ns < 1000 * MS
