# SPDX-License-Identifier: Apache-2.0
"""Lock waits that end by a timeout or by KILL. A replay with --order commit ends with the original rows."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.replay import replay
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.live import may_capture, recording
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options, query

from ..conftest import ServerFactory

CLIENTS, ROUNDS = 4, 6
TIMED_OUT, KILLED, DEADLOCK = 1205, {1317, 1927, 2013, 3024}, 1213


def create(server: Server) -> None:
    """Create the tables with the rows before the workload."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.counter (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    server.execute("INSERT INTO shop.counter VALUES (1, 1), (2, 2)")


def connect(port: int) -> "pymysql.Connection[Any]":
    """Open a connection with a lock wait timeout of 1 s."""
    con = pymysql.connect(host="127.0.0.1", port=port, user="root", database="shop", ssl_disabled=True)
    with con.cursor() as cursor:
        cursor.execute("SET innodb_lock_wait_timeout = 1")
    return con


def drive(port: int, client: int, patience_s: float) -> set[int]:
    """Run one client. It changes both rows in random order and holds their locks for a while. Return the error numbers
    that it got.
    """
    rng = random.Random(client)
    con = connect(port)
    errors = set()
    for _ in range(ROUNDS):
        rows = rng.sample((1, 2), 2)
        try:
            with con.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute(f"UPDATE counter SET n = (n * 3 + {rng.randint(1, 9)}) % 1000003 WHERE id = {rows[0]}")
                cursor.execute(f"DO SLEEP({patience_s if rng.random() < 0.4 else 0.01})")
                cursor.execute(f"UPDATE counter SET n = (n * 5 + {rng.randint(1, 9)}) % 1000003 WHERE id = {rows[1]}")
                cursor.execute("COMMIT")
        except pymysql.err.MySQLError as error:
            errors.add(error.args[0])
            try:
                con.rollback()
            except pymysql.err.MySQLError:
                con = connect(port)
    with suppress(pymysql.err.MySQLError):
        con.close()
    return errors


def kill_some(server: Server, ended: threading.Event) -> None:
    """Until the clients end, kill statements that wait for rows, or kill the sessions of such statements."""
    waiting = "SELECT id FROM information_schema.processlist WHERE info LIKE 'UPDATE counter%' ORDER BY id"
    number = 0
    while not ended.wait(0.15):
        for (found,) in server.execute(waiting)[:1]:
            number += 1
            with suppress(pymysql.err.MySQLError):
                server.execute(f"KILL {'QUERY' if number % 2 else ''} {found}")


@pytest.mark.sampled
@pytest.mark.parametrize("kind", mostly_long(["mariadb", "mysql80", "mysql-9"], "mariadb", "mysql80"))
@pytest.mark.parametrize("killed", mostly_long([False, True], False), ids=["time-outs", "KILL"])
def test_rows_are_equal_after_lock_timeouts_and_kills(
    killed: bool, kind: str, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The replay skips a statement that failed, or undoes its effect as the captured server did. No other session waits
    for such a statement.
    """
    may_capture(request)
    server = server_factory(kind)
    create(server)
    ended = threading.Event()
    with recording(server.port, tmp_path / "t.tape"), ThreadPoolExecutor(CLIENTS + 1) as pool:
        killer = pool.submit(kill_some, server, ended) if killed else None
        errors = set().union(*pool.map(lambda client: drive(server.port, client, 1.3), range(CLIENTS)))
        ended.set()
        if killer is not None:
            killer.result()
    assert errors & (KILLED if killed else {TIMED_OUT})
    original = server.execute("SELECT * FROM shop.counter ORDER BY id")
    create(server)
    overrides = Overrides(clock=True, ids=True)
    patient_ns = 10_000_000_000  # longer than a wait, which takes about 1.3 s
    given = options(
        server, tmp_path / "t.run", pace=Pace("none"), overrides=overrides, commit_order=True, order_bound_ns=patient_ns
    )
    summary = replay(tmp_path / "t.tape", given)
    told = summary.info["accounting"]
    assert server.execute("SELECT * FROM shop.counter ORDER BY id") == original
    assert (told["order_broken"], accounting(summary)[3]) == (0, 0)
    unanswered = {TIMED_OUT} if killed else set()  # in a killed session, a statement may wait again
    assert set(summary.errors) <= {DEADLOCK} | unanswered
    assert query(f"SELECT count(*) FROM '{tmp_path}/t.tape/events/*.parquet'")[0][0] > CLIENTS * ROUNDS
