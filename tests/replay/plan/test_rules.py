# SPDX-License-Identifier: Apache-2.0
"""Tests of the rules of a plan: rules that contradict each other, and the plan's entries in run.json."""

from fractions import Fraction
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.replay.plan.pacing import Amplification, Pace
from querytape.replay.plan.rules import Rules
from querytape.replay.plan.selection import Selection

from tests.helpers.planning import planned
from tests.helpers.tapes import SECOND, T0


def test_unknown_allowed_name_lists_the_known_names() -> None:
    with pytest.raises(InputError, match="--allow-statement nonsense: expected one of shutdown"):
        Rules(allowed=frozenset({"nonsense"}))


@pytest.mark.parametrize(
    "rules",
    [
        {"max_concurrent_sessions": 2},
        {"max_concurrent_sessions": 2, "pace": Pace("none"), "commit_order": True},
        {"selection": Selection(resume=Path("a.run")), "amplification": Amplification(loop=2)},
        {"commit_order": True, "amplification": Amplification(amplify=2)},
    ],
)
def test_contradicting_rules_are_refused(rules: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Rules(**rules)  # type: ignore[arg-type]


def test_run_json_has_the_numbers_of_the_plan(tmp_path: Path) -> None:
    events = [{"session": s, "statement": "SELECT 1", "start_ns": T0 + s * 10 * SECOND} for s in (1, 2)]
    plan = planned(tmp_path, events, Rules(pace=Pace(speed=Fraction(2), max_idle_ns=SECOND)))
    assert plan.as_json() == {
        "planned": 2,
        "sessions": 2,
        "peak_sessions": 2,
        "ids_unknown": 0,
        "now_uncertain": 0,
        "cut_idle_ns": 9 * SECOND,
        "order_notes": [],
    }
