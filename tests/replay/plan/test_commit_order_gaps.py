# SPDX-License-Identifier: Apache-2.0
"""--order commit as a plan: statements that add rows next to those that ask for some, and their locks of gaps."""

from pathlib import Path

import pytest
from querytape.native.bindings.sweep import PLACES

from tests.replay.plan.test_commit_order import arrival, event, waits

pytestmark = pytest.mark.slow

FIRST_WAITS, SECOND_WAITS, NOBODY = (True, False), (False, True), (False, False)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("one", "other", "who"),
    [
        ("update a set x = 1", "insert into a values (1)", FIRST_WAITS),
        ("select x from a for update", "insert into a values (1)", FIRST_WAITS),
        ("insert into a values (1)", "select x from a for update", SECOND_WAITS),
        ("insert into a values (1) on duplicate key update x = 1", "replace into a values (1)", SECOND_WAITS),
        ("insert into a values (1)", "insert into a values (2)", NOBODY),
        ("insert into a select * from a", "insert into a values (1)", NOBODY),
        ("update a set x = 1", "delete from a", NOBODY),
        ("insert into a values (1)", "select x from b for update", NOBODY),
    ],
)
def test_locks_of_gaps(one: str, other: str, who: tuple[bool, bool], tmp_path: Path) -> None:
    """Statements that overlap: what adds rows goes first, for only in that order locks of gaps let both by."""
    events = [
        event(1, 0, 1, "begin"),
        event(2, 0, 1, "begin"),
        event(1, 10, 20, one),
        event(2, 11, 21, other),
        event(2, 30, 31, "commit"),
        event(1, 40, 41, "commit"),
    ]
    found = waits(tmp_path, events)
    assert tuple(bool(str(found[at] or "").split(";")[0]) for at in (2, 3)) == who


@pytest.mark.parametrize(
    ("asked_ms", "ended_ms", "is_first"),
    [
        ((19, 20), 16, True),  # its answer came late: nothing that it may have waited for ended since
        ((16, 18), 17, True),
        ((13, 15), 16, False),  # it may have waited for the transaction that ended then
        ((24, 26), 16, True),
    ],
)
def test_an_insert_whose_answer_came_late(
    asked_ms: tuple[int, int], ended_ms: int, is_first: bool, tmp_path: Path
) -> None:
    """An INSERT has its locks when the last transaction ended that it may have waited for, not when it was answered."""
    events = [
        event(3, 0, 1, "begin"),
        event(3, 2, 3, "update a set x = 1"),
        event(3, ended_ms, ended_ms + 1, "commit"),
        event(1, 0, 1, "begin"),
        event(1, 5, 22, "insert into a values (1)"),
        event(1, 30, 31, "commit"),
        event(2, 0, 1, "begin"),
        event(2, *asked_ms, "select x from a for update"),
        event(2, 40, 41, "commit"),
    ]
    found = [str(text or ";") for text in waits(tmp_path, events)]
    added = found[4].split(";")[1]
    assert (added in found[7].split(";")[0].split()) == is_first


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("asked_ms", "ended_ms", "is_first"),
    [
        (6, None, True),  # its session came back late: nothing that it may have waited for ended since
        (6, 4, True),
        (6, 8, False),  # it may have waited for the transaction that ended then
        (9, 8, True),
    ],
)
def test_an_insert_of_a_general_log(asked_ms: int, ended_ms: int | None, is_first: bool, tmp_path: Path) -> None:
    """Its client may think for long before the session's next arrival: that is not when the INSERT had its locks."""
    events = [
        arrival(3, 0, "begin"),
        arrival(3, 1, "update a set x = 1"),
        arrival(1, 2, "begin"),
        arrival(1, 5, "insert into a values (1)"),
        arrival(2, 3, "begin"),
        arrival(2, asked_ms, "select x from a for update"),
        arrival(2, asked_ms + 1, "select 1"),
        arrival(1, 22, "commit"),
        arrival(2, 30, "commit"),
        arrival(3, 40 if ended_ms is None else ended_ms, "commit"),
    ]
    found = waits(tmp_path, events, source="general")
    kinds = {int(pair.split(":")[0]) % PLACES for pair in str(found[5] or "").split(";")[0].split()}
    assert (2 in kinds) == is_first
