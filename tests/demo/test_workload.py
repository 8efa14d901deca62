# SPDX-License-Identifier: Apache-2.0
"""The demo's customers: the same every time, and doing what a replay has to cope with."""

import threading
from contextlib import closing
from typing import Any

import pymysql
import pytest
from querytape.demo.shop import create_shop
from querytape.demo.workload import Customer, Tally, _session, drive
from querytape.servers.sandbox import Server


def test_the_same_seed_makes_the_same_session() -> None:
    """What a session does and when it wants to follows from seed and number alone."""
    assert list(Customer(1, 7).steps(20)) == list(Customer(1, 7).steps(20))
    assert list(Customer(1, 7).steps(20)) != list(Customer(1, 8).steps(20))
    assert list(Customer(1, 7).steps(20)) != list(Customer(2, 7).steps(20))


def test_steps_of_a_session_come_in_order_and_none_after_the_end() -> None:
    times = [step.at_s for step in Customer(3, 1).steps(10)]
    assert times == sorted(times)
    assert times[-1] < 10


def test_the_workload_has_everything() -> None:
    """Reads, transactions that commit and that roll back, mistakes, slow statements and reconnects are all in it."""
    steps = [step for number in range(48) for step in Customer(1, number).steps(20)]
    text = "\n".join(statement for step in steps for statement in step.statements)
    for wanted in ("ROLLBACK", "COMMIT", "wishlist", "= = 7", "'Twice'", "SUM(l.quantity", "LIKE", "UPDATE", "INSERT"):
        assert wanted in text
    assert any(step.reconnect for step in steps)


def test_driving_it_counts_what_the_server_saw(mariadb_factory: object) -> None:
    """Every statement is sent, the mistakes fail, nothing else does."""
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


def test_a_server_that_is_gone_after_the_end() -> None:
    """A session that was stopped says nothing of its server's end; one that was not does."""

    def gone() -> Any:
        raise pymysql.err.OperationalError(2003, "Connection refused")

    stop = threading.Event()
    with pytest.raises(pymysql.err.OperationalError):
        _session(gone, [], 0.0, stop, Tally())
    stop.set()
    _session(gone, [], 0.0, stop, Tally())
