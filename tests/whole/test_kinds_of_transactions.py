# SPDX-License-Identifier: Apache-2.0
"""All kinds of transactions and locks on real servers. A replay with --order commit ends with the original rows. Four
clients change the same rows, and the changes do not commute. Each workload is recorded as packets. No two autocommit
writes change the same row, because the order of such writes cannot be known (docs/order.md).
"""

import random
from collections.abc import Callable
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
from tests.helpers.whole import accounting, options

from ..conftest import ServerFactory

Say = Callable[[str], Any]
CLIENTS, ROUNDS = 4, 15
DEADLOCK = 1213
NOT_IN_THIS_STATE, DEADLOCK_OF_XA = 1399, 1614  # errors of XA END after a deadlock, on MariaDB and on MySQL


def change(say: Say, rng: random.Random) -> None:
    """Change one of two rows."""
    say(f"UPDATE counter SET n = (n * 3 + {rng.randint(1, 9)}) % 1000003 WHERE id = {rng.randint(1, 2)}")


def user_lock(say: Say, rng: random.Random) -> None:
    """Hold GET_LOCK during autocommit writes. Release the lock in one of two ways."""
    say("SELECT GET_LOCK('nightly', 20)")
    say("UPDATE slow_counter SET n = (n * 3 + 1) % 1000003")
    say("SELECT IS_USED_LOCK('nightly') IS NULL")
    say(f"UPDATE slow_counter SET n = (n * 5 + {rng.randint(1, 9)}) % 1000003")
    say(rng.choice(("SELECT RELEASE_LOCK('nightly')", "DO RELEASE_LOCK('nightly')")))


def user_lock_and_transaction(say: Say, rng: random.Random) -> None:
    """Hold GET_LOCK during a transaction."""
    say("SELECT GET_LOCK('nightly', 20)")
    plain(say, rng)
    say("SELECT RELEASE_LOCK('nightly')")


def plain(say: Say, rng: random.Random) -> None:
    """Run a transaction from BEGIN to COMMIT."""
    say("BEGIN")
    change(say, rng)
    say(f"INSERT INTO log SELECT NULL, n FROM counter WHERE id = {rng.randint(1, 2)}")
    say("COMMIT")


def xa(say: Say, rng: random.Random) -> None:
    """Run an XA transaction."""
    name = f"'x{rng.getrandbits(60)}'"
    say(f"XA START {name}")
    try:
        change(say, rng)
        change(say, rng)
    except pymysql.err.OperationalError:  # after a deadlock, only XA ROLLBACK ends the transaction
        with suppress(pymysql.err.OperationalError):
            say(f"XA END {name}")
        say(f"XA ROLLBACK {name}")
        return
    say(f"XA END {name}")
    if rng.random() < 0.7:
        say(f"XA PREPARE {name}")
        say(f"XA COMMIT {name}")
    else:
        say(f"XA ROLLBACK {name}")


def savepoint(say: Say, rng: random.Random) -> None:
    """Set a savepoint. Then roll back to it or release it."""
    say("BEGIN")
    say("UPDATE counter SET n = (n * 3 + 1) % 1000003 WHERE id = 1")
    say("SAVEPOINT here")
    say("UPDATE counter SET n = (n * 3 + 2) % 1000003 WHERE id = 2")
    say(rng.choice(("ROLLBACK TO here", "RELEASE SAVEPOINT here")))
    say("COMMIT")


def locked_tables(say: Say, rng: random.Random) -> None:
    """Write under LOCK TABLES."""
    say("LOCK TABLES counter WRITE, log WRITE")
    change(say, rng)
    say("INSERT INTO log SELECT NULL, n FROM counter WHERE id = 1")
    say("UNLOCK TABLES")


def by_hand(say: Say, rng: random.Random) -> None:
    """Write with autocommit disabled. End the transaction by COMMIT, ROLLBACK or COMMIT AND CHAIN."""
    say("SET autocommit = 0")
    change(say, rng)
    say(rng.choice(("COMMIT", "ROLLBACK", "COMMIT AND CHAIN")))
    change(say, rng)
    say("SET autocommit = 1")


def snapshot(say: Say, rng: random.Random) -> None:
    """Start a transaction with a snapshot that is older than its row lock."""
    say("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    say("SELECT n FROM counter WHERE id = 1")
    change(say, rng)
    say("COMMIT")


def ddl_inside(say: Say, rng: random.Random) -> None:
    """End a transaction implicitly by DDL."""
    say("BEGIN")
    change(say, rng)
    say(
        rng.choice(
            ("CREATE TABLE IF NOT EXISTS spare LIKE log", "DROP TABLE IF EXISTS spare", "TRUNCATE TABLE emptied")
        )
    )


def changed_table(say: Say, rng: random.Random) -> None:
    """Run ALTER TABLE, which waits for readers and writers of the table and blocks them."""
    say(f"ALTER TABLE counter COMMENT = '{rng.randint(1, 9)}'")
    say("BEGIN")
    say("SELECT n FROM counter WHERE id = 2")
    say("SELECT n FROM counter WHERE id = 1 LOCK IN SHARE MODE")
    change(say, rng)
    say("COMMIT")


def changed_inside(say: Say, rng: random.Random) -> None:
    """End a transaction implicitly by ALTER TABLE, which also waits for other users of the table."""
    say("BEGIN")
    change(say, rng)
    say(f"ALTER TABLE counter COMMENT = '{rng.randint(1, 9)}'")


SCRIPTS = (
    *(user_lock, user_lock_and_transaction, plain, xa, savepoint),
    *(locked_tables, by_hand, snapshot, ddl_inside, changed_table),
)
WORKLOADS = {script.__name__: (script, plain) for script in (*SCRIPTS, changed_inside)} | {"all": SCRIPTS}
TABLES = ("counter", "slow_counter", "log", "emptied")


def create(server: Server) -> None:
    """Create the tables with the rows before the workload."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    for name in TABLES:
        server.execute(f"CREATE TABLE shop.{name} (id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL) ENGINE=InnoDB")
    for name in TABLES[:2]:
        server.execute(f"INSERT INTO shop.{name} VALUES (1, 1), (2, 2)")


def rows(server: Server) -> dict[str, Any]:
    return {name: server.execute(f"SELECT * FROM shop.{name} ORDER BY id") for name in TABLES}


def drive(port: int, scripts: tuple[Callable[[Say, random.Random], None], ...], client: int) -> None:
    """Run one client. After a deadlock, it continues with the next transaction."""
    rng = random.Random(client)
    con = pymysql.connect(host="127.0.0.1", port=port, user="root", database="shop", autocommit=True, ssl_disabled=True)
    with con, con.cursor() as cursor:
        for _ in range(ROUNDS):
            with suppress(pymysql.err.OperationalError):
                rng.choice(scripts)(cursor.execute, rng)
                continue
            cursor.execute("ROLLBACK")
            cursor.execute("SET autocommit = 1")


@pytest.mark.sampled
@pytest.mark.parametrize("kind", mostly_long(["mariadb", "mysql80", "mysql-9"], "mariadb", "mysql80"))
@pytest.mark.parametrize("name", mostly_long(WORKLOADS, "all", "changed_table"))
def test_replay_of_each_transaction_kind_ends_with_the_original_rows(
    name: str, kind: str, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """No order wait times out. Only statements that had a deadlock in the recording fail."""
    may_capture(request)
    server = server_factory(kind)
    create(server)
    with recording(server.port, tmp_path / "t.tape"), ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda client: drive(server.port, WORKLOADS[name], client), range(CLIENTS)))
    original = rows(server)
    create(server)
    overrides = Overrides(clock=True, ids=True)
    given = options(server, tmp_path / "t.run", pace=Pace("none"), overrides=overrides, commit_order=True)
    summary = replay(tmp_path / "t.tape", given)
    assert rows(server) == original
    assert summary.info["accounting"]["order_broken"] == 0
    assert summary.info["accounting"]["order_waits"] > 0
    assert accounting(summary)[3] == 0
    assert set(summary.errors) <= {DEADLOCK, NOT_IN_THIS_STATE, DEADLOCK_OF_XA}
