# SPDX-License-Identifier: Apache-2.0
"""Whatever a log knows, no session waits for itself, and no two for each other: they would wait for ever."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.catalog import Catalog, join_pairs

from tests.helpers.tapes import SECOND, T0
from tests.simulator.target import Planned, settle
from tests.simulator.views import APART, read_planned

from .test_commit_order_golden import CASES, busy, coarse, ordered

pytestmark = pytest.mark.slow
SEEDS = 6
NAMES = re.compile(r"\b(a2?|b2?|parent|v|p)\b")


@pytest.mark.sampled
@pytest.mark.parametrize(("source", "precision_ns", "durations"), CASES)
def test_everybody_comes_to_the_end(tmp_path: Path, source: str, precision_ns: int, durations: bool) -> None:
    """Statements of which little is known, DDL in transactions, locks of tables, several things at one moment."""
    events: list[dict[str, Any]] = []
    for seed in range(SEEDS):
        history = busy(1000 + seed, durations, rare=0.5 if seed % 2 else 0.15)
        events += later(coarse(history) if seed < SEEDS // 2 else history, events, seed)
    catalog = Catalog(
        frozenset(f"h{seed}_{name}" for seed in range(SEEDS) for name in "vp"),
        join_pairs([(f"h{seed}_a", f"h{seed}_parent") for seed in range(SEEDS)]),
    )
    _, rows = ordered(tmp_path, events, source, precision_ns, catalog)
    sessions: dict[int, list[Planned]] = {}
    for (session, _), text in sorted(rows.items()):
        planned = read_planned(text)
        sessions.setdefault(session, []).extend([planned.commit, planned] if planned.commit else [planned])
    left = unfinished(sessions)
    assert {session // APART for session in sessions} == set(range(SEEDS))
    assert left == {}, f"seeds {sorted({session // APART for session in left})}"


def later(history: list[dict[str, Any]], before: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return a history after all others on its tape: its sessions and tables are its own."""
    ends = [event["start_ns"] - T0 + (event["duration_ns"] or 0) for event in before]
    begin = (max(ends, default=-SECOND) // SECOND + 1) * SECOND
    found = []
    for event in history:
        sql = NAMES.sub(rf"h{seed}_\1", event["statement"])
        digest = event["digest"] and hashlib.sha256(sql.encode()).hexdigest()[:16]
        moved = {"session": seed * APART + event["session"], "start_ns": begin + event["start_ns"]}
        found.append({**event, **moved, "statement": sql, "digest": digest})
    return found


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
