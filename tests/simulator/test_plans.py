# SPDX-License-Identifier: Apache-2.0
"""Tests that the plan of a tape equals the plan of the slow reference rules."""

from pathlib import Path

import pytest

from .history import Mix, make_history
from .reference import Reference
from .target import Planned
from .views import TRIED, plan_histories

pytestmark = pytest.mark.slow
OVERLAP_NS = 1_000_000_000
UPDATES = (("update", 5), ("read", 3), ("lock", 1))
READS = (("update", 3), ("read", 5), ("lock", 1))
MIXES = {
    "both": Mix(),
    "late answers": Mix(slow_answers=0.4),
    "user-level locks": Mix(slow_answers=0.4, user_locks=0.5),
    "longer than a wait may be": Mix(slow_answers=0.4, unit_ns=50_000_000),
    "tables whole": Mix(slow_answers=0.4, kinds=UPDATES, whole=1.0, ddl_ends=0.3),
    "tables whole at one moment": Mix(slow_answers=0.4, kinds=UPDATES, whole=1.0, ddl_ends=0.3, moments_ns=40_000),
    "tables whole and reads": Mix(transactions=0.5, kinds=READS, slow_answers=0.2, whole=0.3),
    "tables whole for longer than a wait may be": Mix(
        slow_answers=0.4, kinds=UPDATES, whole=0.5, ddl_ends=0.3, unit_ns=50_000_000
    ),
    "tables whole and reads for long": Mix(
        transactions=0.5, kinds=READS, slow_answers=0.2, whole=0.3, unit_ns=50_000_000
    ),
    "many at one moment": Mix(slow_answers=0.4, unit_ns=1_000, moments_ns=40_000),
}


@pytest.mark.sampled
@pytest.mark.parametrize("source", TRIED)
@pytest.mark.parametrize("mix", MIXES)
def test_plan_equals_the_plan_of_the_simple_reference(mix: str, source: str, tmp_path: Path) -> None:
    alone = MIXES[mix].user_locks > 0  # user-level locks are shared by all histories of a tape
    histories = [make_history(seed, MIXES[mix]) for seed in range(6 if alone else 25)]
    together = 1 if alone else len(histories)
    for first in range(0, len(histories), together):
        some = histories[first : first + together]
        for history, plan in zip(some, plan_histories(tmp_path / str(first), some, source), strict=True):
            assert counts(plan) == counts(Reference(history, source, OVERLAP_NS).plan())


def counts(plan: list[Planned]) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """Return the waits and marks of each event as (kind, number). Tables are left out because each plan numbers the
    tables differently.
    """
    return [
        (
            sorted((place % 3, number) for place, number in each.waits.items()),
            sorted((place % 3, number) for place, number in each.marks),
        )
        for each in (part for one in plan for part in (one.commit, one) if part is not None)
    ]
