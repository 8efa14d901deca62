# SPDX-License-Identifier: Apache-2.0
"""--order commit as a plan: locks of gaps, logs of whole seconds, and snapshots.

Of statements that add rows next to those that ask for some, only one order lets both by. A log of whole seconds has the
order of the ends and nothing of the beginnings. The first plain read of a transaction decides what all of it sees.
"""

from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.sweep import PLACES

from tests.helpers.tapes import SECOND
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


def test_a_commit_may_have_begun_when_its_session_was_logged_last(tmp_path: Path) -> None:
    """What took locks and is logged before that COMMIT may have waited for it."""
    events = [
        event(1, 0, 1, "begin"),
        event(2, 0, 2, "begin"),
        event(1, 2, 3, "update a set x = 1"),
        event(2, 3, 6, "update a set x = 2"),
        event(1, 6, 7, "commit"),
        event(2, 8, 9, "commit"),
    ]
    found = waits(tmp_path, events, precision_ns=SECOND)
    place = str(found[4]).removeprefix(";").split(":")[0]
    assert found[2:] == [None, f"{place}:1", f";{place}:1", f"{place}:1;{place}:2"]


@pytest.mark.parametrize(
    ("between", "first"),
    [
        ([], True),
        ([event(3, 4, 5, "begin"), event(3, 5, 6, "update a set x = 3"), event(3, 8, 9, "commit")], False),
        ([event(1, 4, 5, "select 1")], False),
    ],
    ids=["alone", "behind one that ended", "begun since"],
)
def test_a_write_that_is_logged_late(between: list[dict[str, object]], first: bool, tmp_path: Path) -> None:
    """What asked for its row may be logged before it. It can't have waited for who went on: it was first."""
    events = [
        event(1, 1, 2, "update a set x = 0"),
        event(2, 0, 1, "begin"),
        event(2, 3, 4, "select x from a for update"),
        *between,
        event(1, 9, 10, "update a set x = 1"),
        event(2, 11, 12, "update a set x = 2"),
        event(2, 13, 14, "commit"),
    ]
    found = waits(tmp_path, events, precision_ns=SECOND)
    place = str(found[0]).removeprefix(";").split(":")[0]
    assert found[2] == f"{place}:{2 if first else 1}"
    assert str(found[-3]).endswith(f";{place}:{3 if len(between) == 3 else 2}")


@pytest.mark.parametrize(("took", "waited"), [(1, True), (3, True), (4, False)])
def test_a_commit_that_is_logged_behind_a_begin(took: int, waited: bool, tmp_path: Path) -> None:
    """A read that began behind the entry of a COMMIT has seen it, though its BEGIN was logged before that."""
    events = [
        event(1, 0, 1, "begin"),
        event(1, 1, 2, "update a set x = 1"),
        event(2, 3, 4, "begin"),
        event(1, 4, 5, "commit"),
        event(2, 8 - took, 8, "select x from a"),
        event(2, 9, 10, "commit"),
    ]
    found = waits(tmp_path, events, precision_ns=SECOND)
    assert (str(found[4]) == str(found[3]).removeprefix(";")) == waited


def around(*inside: str, opened: int = 20) -> list[dict[str, Any]]:
    """Return events: a commit on b that ended at 10 ms, then a transaction whose first statement begins at `opened`."""
    texts = ["begin", *inside, "commit"]
    own = [event(2, opened - 1 + 4 * n, opened + 1 + 4 * n, text) for n, text in enumerate(texts)]
    return [event(1, 5, 10, "update b set x = 1"), *own]


def waited(found: list[str | None]) -> list[bool]:
    """Return which of the events wait for the first one's commit."""
    mark = str(found[0]).removeprefix(";")
    return [mark in str(each).split(";")[0].split() for each in found]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "later", ["select * from b", "select x from b for update", "update b set x = 2", "insert into b values (1)"]
)
@pytest.mark.parametrize("precision_ns", [1000, 1_000_000_000], ids=["microseconds", "whole seconds"])
def test_the_first_read_waits_for_all_tables_of_its_transaction(later: str, precision_ns: int, tmp_path: Path) -> None:
    """Whatever the transaction does with b later, it sees b as of its first read, of another table."""
    found = waits(tmp_path, around("select * from a", "select * from a", later), precision_ns=precision_ns)
    assert waited(found)[2:4] == [True, False]


def test_what_opens_no_snapshot_waits_for_its_own_tables(tmp_path: Path) -> None:
    """A locking read or a write before the first plain read, a read in no transaction, one that looks at no table."""
    for number, inside in enumerate(
        (("select x from a for update", "select * from b"), ("select 1", "select * from b"))
    ):
        (tmp_path / str(number)).mkdir()
        assert waited(waits(tmp_path / str(number), around(*inside)))[2:4] == [False, True]
    alone = [
        event(1, 5, 10, "update b set x = 1"),
        event(2, 20, 21, "select * from a"),
        event(2, 22, 23, "select * from b"),
    ]
    (tmp_path / "alone").mkdir()
    assert waited(waits(tmp_path / "alone", alone)) == [False, False, True]


def test_a_commit_that_came_later_is_not_waited_for(tmp_path: Path) -> None:
    """What was committed behind the first read was not seen: nor does the first read wait for its own transaction."""
    found = waits(tmp_path, around("select * from a", "select * from b", opened=8))
    assert waited(found)[2] is True
    events = [
        event(2, 0, 1, "begin"),
        event(2, 2, 3, "select * from a"),
        event(1, 5, 10, "update b set x = 1"),
        event(2, 20, 21, "update b set x = 2"),
        event(2, 22, 23, "commit"),
    ]
    (tmp_path / "later").mkdir()
    assert str(waits(tmp_path / "later", events)[1]) in ("None", "")
