# SPDX-License-Identifier: Apache-2.0
"""Blocks that other programs disturbed, and verdicts on simulated machines on which other programs run."""

from typing import Any

import numpy as np
import pytest
from querytape.analyze.verdicts.interference import UNKNOWN, Disturbance, disturbance
from querytape.bench.simulated_pairs import DIGESTS, Simulation, counted

from tests.helpers.shapes import rows_of


def rows(a: float | None, b: float | None, idle: float = 1.0, machine: str = "host", **b_more: Any) -> Disturbance:
    """Return the disturbance of ten blocks. `a` and `b` are the numbers of cores, out of two, that other programs used
    during A and B.
    """
    usual: dict[str, Any] = {"machine": machine, "round": 1, "steal": 0.0, "idle": idle, "cpus": 2, "waiting": 1.0}
    sides: list[tuple[str, dict[str, Any]]] = [("a", {"others": a}), ("b", {"others": b, **b_more})]
    found = [{**usual, "run": run, "block": n, **own} for run, own in sides for n in range(10)]
    return disturbance(rows_of("interference", *found))


def test_disturbance_of_one_side() -> None:
    found = rows(0.1, 1.6)
    assert (found.b_more.sum(), found.a_more.sum(), found.uneven.sum()) == (10, 0, 10)
    assert found.said == "other programs used 1.6 of 2 cores during B (A: 0.1)"
    assert (found.disturbed, found.seen, found.crowded, found.blocks) == (True, True, False, 10)
    found = rows(1.6, 0.1)
    assert (found.b_more.sum(), found.a_more.sum()) == (0, 10)
    assert not rows(1.0, 1.1).disturbed


def test_disturbance_on_a_full_machine() -> None:
    """A server that uses more CPU leaves less CPU for other programs. The lower use of other programs must not hide the
    server's slowdown.
    """
    found = rows(1.7, 1.1, idle=0.0)
    assert found.a_more.sum() == 10
    assert not found.b_more.any()
    assert not found.uneven.any()
    assert found.crowded
    assert not found.tells
    waiting = rows(1.8, 1.8, idle=0.0, waiting=9.0)
    assert waiting.b_more.sum() == waiting.uneven.sum() == 10


def test_text_for_a_full_machine() -> None:
    """If only waiting processes reveal the disturbance, the text names their number and the disturbed side. Higher CPU
    use of other programs during A does not prove that B is equally fast.
    """
    more = "no CPU core was idle, and 9 other processes waited during B (A: 1)"
    assert rows(1.8, 1.8, idle=0.0, waiting=9.0).said == more
    assert rows(1.8, 1.3, idle=0.0, waiting=9.0).said == more
    assert rows(0.2, 1.8, idle=0.0, waiting=9.0).said == "other programs used 1.8 of 2 cores during B (A: 0.2)"
    assert rows(1.8, 1.3, idle=0.0, waiting=1.0).said == "other programs used 1.8 of 2 cores during A (B: 1.3)"
    assert rows(1.3, 1.3, idle=1.0, waiting=9.0).said == "other programs used 1.3 of 2 cores during B (A: 1.3)"


def test_missing_samples_leave_disturbance_unknown() -> None:
    """Without samples or without the target's process, only stolen time is known. The same applies to the machine on
    which querytape runs.
    """
    assert disturbance([]) is UNKNOWN
    assert not rows(None, None).seen
    assert rows(None, None, steal=1.0).b_more.sum() == 10
    away = rows(0.0, 1.5, machine="tool")
    assert away.b_more.sum() == 10
    assert not away.seen


@pytest.mark.parametrize(
    "simulation",
    [
        Simulation("none", 500, load="beside B"),
        Simulation("none", 500, load="beside B", seen=False),
        Simulation("none", 500, load="in bursts"),
        Simulation("none", 500, load="drift"),
        Simulation("none", 500, load="steal"),
        Simulation("none", 500, load="changing", rounds=3, seen=False),
        Simulation("none", 17, load="in bursts"),
    ],
    ids=lambda simulation: f"{simulation.n} {simulation.machine}",
)
def test_disturbed_machines_rarely_give_false_verdicts(simulation: Simulation) -> None:
    false = sum(trial[1] for trial in counted(simulation, 5))
    assert false <= 0.01 * 5 * DIGESTS


@pytest.mark.parametrize("load", ["beside both", "a quarter"])
def test_slowdown_is_found_despite_other_programs(load: str) -> None:
    """Statements are 50 % slower in B. Other programs run during both sides, or in a quarter of the blocks."""
    assert np.sum([trial[0] for trial in counted(Simulation("50 %", 500, load=load), 5)]) == 5


def test_slowdown_of_a_nightly_job_is_found() -> None:
    """A heavy statement runs twice in each of five rounds and takes twice as long in B."""
    assert np.sum([trial[0] for trial in counted(Simulation("twice", 2, rounds=5), 5)]) >= 4
