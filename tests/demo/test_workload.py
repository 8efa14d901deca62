# SPDX-License-Identifier: Apache-2.0
"""The customers of the demo: reproducible sessions with the cases that are difficult to replay."""

import threading
from contextlib import closing
from typing import Any

import pymysql
import pytest
from querytape.demo.shop import create_shop
from querytape.demo.workload import Customer, Tally, _session, drive
from querytape.servers.sandbox import Server


def test_same_seed_creates_the_same_session() -> None:
    """The statements and their times depend only on the seed and the session number."""
    assert list(Customer(1, 7).steps(20)) == list(Customer(1, 7).steps(20))
    assert list(Customer(1, 7).steps(20)) != list(Customer(1, 8).steps(20))
    assert list(Customer(1, 7).steps(20)) != list(Customer(2, 7).steps(20))


def test_steps_of_a_session_are_sorted_and_within_its_duration() -> None:
    times = [step.at_s for step in Customer(3, 1).steps(10)]
    assert times == sorted(times)
    assert times[-1] < 10


def test_workload_contains_all_kinds_of_statements() -> None:
    """The workload has reads, committed and rolled back transactions, errors, slow statements and reconnects."""
    steps = [step for number in range(48) for step in Customer(1, number).steps(20)]
    text = "\n".join(statement for step in steps for statement in step.statements)
    for wanted in ("ROLLBACK", "COMMIT", "wishlist", "= = 7", "'Twice'", "SUM(l.quantity", "LIKE", "UPDATE", "INSERT"):
        assert wanted in text
    assert any(step.reconnect for step in steps)


def test_workload_counts_equal_those_of_the_server(mariadb_factory: object) -> None:
    """Each statement of the workload reaches the server. Only the intentional errors fail."""
    server: Server = mariadb_factory()  # type: ignore[operator]
    with closing(server.connect(autocommit=False)) as connection:
        rows = create_shop(connection)
        connection.commit()
    assert 95_000 < rows < 110_000
    planned = [step for number in range(16) for step in Customer(1, number).steps(2)]
    mistakes = ("wishlist", "= = 7", "'Twice'")
    tally = drive(lambda: server.connect("shop"), 2, 16)
    assert tally.statements == sum(len(step.statements) for step in planned)
    assert tally.connects == 16 + sum(step.reconnect for step in planned)
    assert tally.errors == sum(any(m in text for m in mistakes) for step in planned for text in step.statements)


def test_missing_server_is_ignored_only_after_demo_was_stopped() -> None:
    """A stopped session ignores that its server has ended. Any other session raises an error."""

    def gone() -> Any:
        raise pymysql.err.OperationalError(2003, "Connection refused")

    stop = threading.Event()
    with pytest.raises(pymysql.err.OperationalError):
        _session(gone, [], 0.0, stop, Tally())
    stop.set()
    _session(gone, [], 0.0, stop, Tally())
