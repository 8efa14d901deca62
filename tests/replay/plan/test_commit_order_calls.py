# SPDX-License-Identifier: Apache-2.0
"""--order commit as a plan: CALLs whose procedures may commit by themselves are counted where their order is a guess."""

from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.commit_order import CALLS_AT_ONCE

from tests.helpers.planning import planned
from tests.replay.plan.test_commit_order import CATALOG, ORDERED, event


def notes(tmp_path: Path, events: list[dict[str, Any]], **more: Any) -> list[str]:
    return planned(tmp_path, events, ORDERED, catalog=CATALOG, **more).order_notes


@pytest.mark.parametrize(
    ("spans", "counted"),
    [
        ([(0, 10), (11, 20), (21, 30)], 0),
        ([(0, 10), (9, 20), (21, 30)], 2),
        ([(0, 100), (9, 20), (21, 30)], 3),
        ([(0, 10), (10, 20)], 2),
        ([(0, 10)], 0),
        ([], 0),
    ],
)
def test_calls_that_overlap(tmp_path: Path, spans: list[tuple[int, int]], counted: int) -> None:
    """Each that ran beside another is counted once, in whatever comment its word stands."""
    words = ("call p()", "CALL p()", "/*! call */ p()")
    events = [event(n, *span, words[n % 3]) for n, span in enumerate(spans, 1)]
    events.append(event(9, 0, 200, "update a set x = 1"))
    found = notes(tmp_path, events)
    assert found == ([f"{counted} {CALLS_AT_ONCE}"] if counted else [])


def test_calls_of_transactions(tmp_path: Path) -> None:
    """The client's COMMIT tells their order: they are not counted; nor are those of a log of arrivals, which says more."""
    inside = [
        event(at, *span, sql)
        for at in (1, 2)
        for span, sql in (((0, 1), "begin"), ((2, 9), "call p()"), ((10, 11), "commit"))
    ]
    assert notes(tmp_path, inside) == []
    alone = [{**event(at, 0, 0, "call p()"), "duration_ns": None} for at in (1, 2)]
    (tmp_path / "general").mkdir()
    assert not any(CALLS_AT_ONCE in note for note in notes(tmp_path / "general", alone, source="general"))
