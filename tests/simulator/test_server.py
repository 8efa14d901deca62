# SPDX-License-Identifier: Apache-2.0
"""Tests of the lock model. It behaves like InnoDB with REPEATABLE READ."""

import pytest

from .server import Server, Statement


def server(*keys: int, beyond: bool = False) -> Server:
    """Return a server whose table 0 has rows with these keys."""
    return Server({(0, key): 1 for key in keys}, beyond)


def statement_on(kind: str, low: int, high: int | None = None) -> Statement:
    """Return a statement on table 0."""
    return Statement(kind, 0, low, low if high is None else high)


@pytest.mark.parametrize(
    ("held", "wanted", "waits"),
    [
        (statement_on("update", 2), statement_on("update", 2), True),
        (statement_on("update", 2), statement_on("update", 4), False),
        (statement_on("lock", 2), statement_on("delete", 2), True),
        (statement_on("update", 3), statement_on("insert", 3), True),  # the key is missing, so the gap is locked
        (statement_on("update", 3), statement_on("update", 3), False),  # gap locks do not block each other
        (statement_on("update", 2), statement_on("insert", 3), False),
        (statement_on("update", 2, 4), statement_on("insert", 5), True),
        (statement_on("insert", 5), statement_on("update", 2, 4), False),
        (statement_on("insert", 3), statement_on("update", 2, 4), True),
        (statement_on("insert", 3), statement_on("insert", 3), True),
        (statement_on("insert", 3), statement_on("insert", 5), False),
        (statement_on("share", 2), statement_on("share", 2), False),
        (statement_on("share", 2), statement_on("update", 2), True),
        (statement_on("update", 2), statement_on("share", 2), True),
        (statement_on("share", 2, 4), statement_on("insert", 3), True),
    ],
)
def test_conflicting_lock_waits_for_the_holder(held: Statement, wanted: Statement, waits: bool) -> None:
    """A lock without a conflict is granted while the other transaction is open."""
    found = server(2, 4, 8)
    assert isinstance(found.attempt(1, held, 1), tuple)
    answer = found.attempt(2, wanted, 2)
    assert (answer == {1}) is waits
    if waits:
        found.commit(1)
        assert isinstance(found.attempt(2, wanted, 2), tuple)


def test_lock_request_does_not_overtake_an_earlier_request() -> None:
    """A lock request waits for all earlier incompatible requests for the row."""
    found = server(2, 4)
    assert found.attempt(1, statement_on("share", 2), 1) == (1,)
    assert found.attempt(2, statement_on("update", 2), 2) == {1}
    assert found.attempt(3, statement_on("share", 2), 3) == {2}
    assert found.attempt(1, statement_on("update", 2), 4) == {2, 3}  # a deadlock
    found.rollback(1)
    assert found.attempt(3, statement_on("share", 2), 3) == {2}
    assert found.attempt(2, statement_on("update", 2), 2) == (1,)
    found.give_up(3)
    assert found.attempt(4, statement_on("update", 2), 5) == {2}


@pytest.mark.parametrize("beyond", [False, True])
def test_range_read_locks_the_next_row_before_mysql_8_0_18(beyond: bool) -> None:
    found = server(2, 4, 8, beyond=beyond)
    found.attempt(1, statement_on("update", 2, 4), 1)
    assert (found.attempt(2, statement_on("update", 8), 2) == {1}) is beyond


def test_rollback_removes_rows_and_locks() -> None:
    found = server(2, 4)
    for number, statement in enumerate(
        (statement_on("update", 2), statement_on("delete", 4), statement_on("insert", 6))
    ):
        found.attempt(1, statement, number)
    found.rollback(1)
    assert found.rows == {(0, 2): 1, (0, 4): 1}
    assert found.attempt(2, statement_on("update", 0, 9), 9) == (2,)


def test_snapshot_opens_at_the_first_read() -> None:
    """A transaction does not see later commits of other transactions, but it sees its own writes."""
    found = server(2, 4)
    assert found.attempt(1, statement_on("read", 2), 1) == (1,)
    found.attempt(2, statement_on("update", 4), 2)
    found.commit(2)
    assert found.attempt(1, statement_on("read", 4), 3) == (1,)
    found.attempt(1, statement_on("update", 4), 4)
    assert found.attempt(1, statement_on("read", 4), 5) != (1,)


def test_row_value_shows_the_order_of_its_writes() -> None:
    rows = []
    for order in ((1, 2), (2, 1)):
        found = server(2)
        for transaction in order:
            found.attempt(transaction, statement_on("update", 2), transaction)
            found.commit(transaction)
        rows.append(found.committed)
    assert rows[0] != rows[1]
