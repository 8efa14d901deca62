# SPDX-License-Identifier: Apache-2.0
"""Tests of the plan with `--order commit`: gap locks, logs with whole seconds, and snapshots.

If inserts and locking reads overlap, gap locks allow only one order. A log with whole seconds shows the order in which
statements ended, but not the order in which they began. The first plain read of a transaction opens the snapshot for
all its reads.
"""

from pathlib import Path
from typing import Any, cast

import pytest
from querytape.native.bindings.sweep import PLACES
from querytape.replay.plan.catalog import read_catalog

from tests.helpers.tapes import SECOND
from tests.replay.plan.test_catalog import AnsweringTarget
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
def test_insert_goes_before_an_overlapping_locking_statement(
    one: str, other: str, who: tuple[bool, bool], tmp_path: Path
) -> None:
    """If the locking statement went first, its gap lock would block the INSERT."""
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
        ((19, 20), 16, True),  # the answer came late, and no transaction ended before it
        ((16, 18), 17, True),
        ((13, 15), 16, False),  # the INSERT may have waited for the transaction that ended at that time
        ((24, 26), 16, True),
    ],
)
def test_insert_has_its_locks_before_a_late_answer(
    asked_ms: tuple[int, int], ended_ms: int, is_first: bool, tmp_path: Path
) -> None:
    """The INSERT has its locks when the last transaction that it may have waited for ends. Its answer comes later."""
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
    ("deletes", "waits_for_each_other"),
    [
        ("delete from copy where id = old.id", (False, True)),  # only the INSERT adds rows to the copy
        ("insert into gone values (old.id)", (True, False)),  # both add rows, so the earlier statement goes first
    ],
)
def test_trigger_decides_whether_a_delete_adds_rows(
    deletes: str, waits_for_each_other: tuple[bool, bool], tmp_path: Path
) -> None:
    """Online schema changes copy rows by triggers. A DELETE that only deletes rows of the copy locks a gap there."""
    target = AnsweringTarget(
        {
            "TRIGGERS": [
                ("a", "INSERT", "replace into copy values (new.id)", "a_i"),
                ("a", "DELETE", deletes, "a_d"),
            ],
            "TABLES": [("a",), ("copy",), ("gone",)],
        }
    )
    events = [
        event(1, 0, 1, "begin"),
        event(2, 0, 1, "begin"),
        event(1, 12, 14, "insert into a values (1)"),
        event(2, 10, 20, "delete from a where id = 2"),
        event(1, 40, 41, "commit"),
        event(2, 40, 41, "commit"),
    ]
    found = [str(text or "") for text in waits(tmp_path, events, catalog=read_catalog(cast(Any, target)))]
    assert (adds_awaited(found[2]), adds_awaited(found[3])) == waits_for_each_other


def adds_awaited(waits_of_event: str) -> bool:
    """Return whether an event waits for a statement that adds rows."""
    return any(int(pair.split(":")[0]) % PLACES == 2 for pair in waits_of_event.split(";")[0].split())


def test_replace_waits_for_an_earlier_replace_that_got_its_locks_at_the_same_time(tmp_path: Path) -> None:
    """Both may have waited for one COMMIT. A server then gives the locks in the order of the requests."""
    events = [
        event(3, 0, 1, "begin"),
        event(3, 2, 3, "delete from a"),
        event(3, 20, 21, "commit"),
        event(1, 0, 1, "begin"),
        event(1, 5, 23, "replace into a values (1)"),
        event(2, 0, 1, "begin"),
        event(2, 6, 22, "replace into a values (2)"),
        event(1, 30, 31, "commit"),
        event(2, 30, 31, "commit"),
    ]
    found = [str(text or "") for text in waits(tmp_path, events)]
    assert (adds_awaited(found[4]), adds_awaited(found[6])) == (False, True)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("asked_ms", "ended_ms", "is_first"),
    [
        (6, None, True),  # the next arrival came late, and no transaction ended before it
        (6, 4, True),
        (6, 8, False),  # the INSERT may have waited for the transaction that ended at that time
        (9, 8, True),
    ],
)
def test_insert_in_a_general_log_has_its_locks_before_the_next_arrival(
    asked_ms: int, ended_ms: int | None, is_first: bool, tmp_path: Path
) -> None:
    """The client may think for a long time before the next arrival in its session."""
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
    assert adds_awaited(str(found[5] or "")) == is_first


def test_commit_may_begin_when_its_session_logs_the_previous_entry(tmp_path: Path) -> None:
    """A statement that took locks and was logged before the COMMIT may have waited for the COMMIT."""
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
    ids=["alone", "after an ended transaction", "after an event of the writer"],
)
def test_write_logged_later_may_be_first(between: list[dict[str, object]], first: bool, tmp_path: Path) -> None:
    """A locking statement on the same row is logged before the write. The session of that statement then continued. The
    write therefore did not wait for its locks and was first.
    """
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
def test_read_after_a_commit_waits_although_its_begin_was_logged_earlier(
    took: int, waited: bool, tmp_path: Path
) -> None:
    """The read began after the log entry of the COMMIT, so its snapshot includes the COMMIT."""
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


def commit_and_transaction(*inside: str, opened: int = 20) -> list[dict[str, Any]]:
    """Return a commit on table b that ended at 10 ms, and a transaction whose first statement begins at `opened` (ms)."""
    texts = ["begin", *inside, "commit"]
    own = [event(2, opened - 1 + 4 * n, opened + 1 + 4 * n, text) for n, text in enumerate(texts)]
    return [event(1, 5, 10, "update b set x = 1"), *own]


def waited(found: list[str | None]) -> list[bool]:
    """Return for each event whether it waits for the commit of the first event."""
    mark = str(found[0]).removeprefix(";")
    return [mark in str(each).split(";")[0].split() for each in found]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "later", ["select * from b", "select x from b for update", "update b set x = 2", "insert into b values (1)"]
)
@pytest.mark.parametrize("precision_ns", [1000, 1_000_000_000], ids=["microseconds", "whole seconds"])
def test_first_read_waits_for_all_tables_of_its_transaction(later: str, precision_ns: int, tmp_path: Path) -> None:
    """The first read opens the snapshot and accesses table a. The snapshot also determines the rows that the
    transaction later reads from table b.
    """
    found = waits(
        tmp_path, commit_and_transaction("select * from a", "select * from a", later), precision_ns=precision_ns
    )
    assert waited(found)[2:4] == [True, False]


def test_statement_without_a_snapshot_waits_only_for_its_own_tables(tmp_path: Path) -> None:
    """A locking read before the first plain read opens no snapshot. A read outside a transaction and a read without a
    table open no snapshot either.
    """
    for number, inside in enumerate(
        (("select x from a for update", "select * from b"), ("select 1", "select * from b"))
    ):
        (tmp_path / str(number)).mkdir()
        assert waited(waits(tmp_path / str(number), commit_and_transaction(*inside)))[2:4] == [False, True]
    alone = [
        event(1, 5, 10, "update b set x = 1"),
        event(2, 20, 21, "select * from a"),
        event(2, 22, 23, "select * from b"),
    ]
    (tmp_path / "alone").mkdir()
    assert waited(waits(tmp_path / "alone", alone)) == [False, False, True]


def test_transaction_does_not_wait_for_later_commits(tmp_path: Path) -> None:
    """A transaction does not see commits after its first read. Its first read does not wait for its own commit."""
    found = waits(tmp_path, commit_and_transaction("select * from a", "select * from b", opened=8))
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
