# SPDX-License-Identifier: Apache-2.0
"""Whatever a log knows, no session waits for itself, and no two for each other: they would wait for ever."""

from pathlib import Path

import pytest

from tests.simulator.target import Planned, settle
from tests.simulator.views import read_planned

from .test_commit_order_golden import CASES, busy, coarse, ordered

pytestmark = pytest.mark.slow
SEEDS = 6


@pytest.mark.parametrize(("source", "precision_ns", "durations"), CASES)
def test_everybody_comes_to_the_end(tmp_path: Path, source: str, precision_ns: int, durations: bool) -> None:
    """Statements of which little is known, DDL in transactions, locks of tables, several things at one moment."""
    for seed in range(SEEDS):
        events = busy(1000 + seed, durations, rare=0.5 if seed % 2 else 0.15)
        _, rows = ordered(tmp_path / str(seed), coarse(events) if seed < SEEDS // 2 else events, source, precision_ns)
        sessions: dict[int, list[Planned]] = {}
        for (session, _), text in sorted(rows.items()):
            planned = read_planned(text)
            sessions.setdefault(session, []).extend([planned.commit, planned] if planned.commit else [planned])
        assert unfinished(sessions) == {}, seed


def unfinished(sessions: dict[int, list[Planned]]) -> dict[int, Planned]:
    """Do all that may be done until nothing more may; return the first thing of each session that is left."""
    settled: dict[int, set[int]] = {}
    prefix: dict[int, int] = {}
    moved = True
    while moved:
        moved = False
        for left in sessions.values():
            while left and all(prefix.get(place, 0) >= number for place, number in left[0].waits.items()):
                for place, number in left.pop(0).marks:
                    settle(settled, prefix, place, number)
                moved = True
    return {session: left[0] for session, left in sessions.items() if left}
