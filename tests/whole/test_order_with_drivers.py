# SPDX-License-Identifier: Apache-2.0
"""The order of commits with several drivers. Each customer has a schema with the same tables and hot rows."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.capture.tools import deal as dealing
from querytape.capture.tools.deal import deal
from querytape.common.errors import InputError
from querytape.replay.checks.preflight import Finding
from querytape.replay.drivers.lead import replay_by_drivers
from querytape.replay.drivers.shares import Drivers
from querytape.replay.options import ReplayOptions
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.replay.watcher import Watcher
from querytape.servers.sandbox import Server

from tests.helpers.live import may_capture, recording
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import accounting, killing, options

from ..conftest import ServerFactory

CUSTOMERS, CLIENTS, ROUNDS, ROWS = 3, 4, 25, 4
HOT = 12  # rows that all clients change
SCHEMAS = [f"customer{number}" for number in range(CUSTOMERS)]


def create(server: Server) -> None:
    """Create the schemas with the rows before the workload."""
    server.execute("CREATE DATABASE IF NOT EXISTS shop")  # the default schema of the replay
    for schema in [*SCHEMAS, "shared"]:
        server.execute(f"DROP DATABASE IF EXISTS {schema}")
        server.execute(f"CREATE DATABASE {schema}")
        server.execute(f"CREATE TABLE {schema}.counter (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB")
        server.execute(f"INSERT INTO {schema}.counter VALUES {', '.join(f'({row}, {row})' for row in range(ROWS))}")


def rows(server: Server) -> list[Any]:
    """Return all rows of all schemas."""
    return [server.execute(f"SELECT * FROM {schema}.counter ORDER BY id") for schema in [*SCHEMAS, "shared"]]


def drive(port: int, client: int, joined: bool) -> None:
    """Run one client of one customer. The result of each transaction depends on the order of the commits.

    Every client reads a table that nobody writes. With `joined`, one client writes it.
    """
    rng = random.Random(client)
    schema = SCHEMAS[client % CUSTOMERS]
    with pymysql.connect(host="127.0.0.1", port=port, user="root", database=schema, ssl_disabled=True) as con:
        for _ in range(ROUNDS):
            first, second = sorted(rng.sample(range(ROWS), 2))
            with con.cursor() as cursor:
                cursor.execute("SELECT SUM(n) FROM shared.counter")
                cursor.execute("BEGIN")
                cursor.execute(f"UPDATE counter SET n = (n * 3 + {rng.randint(1, 9)}) % 1000003 WHERE id = {first}")
                cursor.execute(f"UPDATE `{schema}`.counter SET n = (n * 5 + {client}) % 1000003 WHERE id = {second}")
                cursor.execute("COMMIT")
                if joined and client == 0:
                    cursor.execute("UPDATE shared.counter SET n = n + 1 WHERE id = 0")


def record(server: Server, tape: Path, joined: bool = False) -> list[Any]:
    """Record the workload, and return the rows after it. Then create the rows before it again."""
    create(server)
    with recording(server.port, tape), ThreadPoolExecutor(CUSTOMERS * CLIENTS) as pool:
        list(pool.map(lambda client: drive(server.port, client, joined), range(CUSTOMERS * CLIENTS)))
    original = rows(server)
    create(server)
    return original


@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
def test_rows_are_equal_after_a_replay_by_three_drivers(
    kind: str,
    server_factory: ServerFactory,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_capture(request)
    monkeypatch.setattr(dealing, "LARGEST_GROUP", 3.0)  # the durations of the statements, and so the loads, are random
    server = server_factory(kind)
    original = record(server, tmp_path / "t.tape")
    dealt = deal(tmp_path / "t.tape", 3, tmp_path / "t.set", by_table=True)
    assert dealt.groups == CUSTOMERS
    summary = replay_by_drivers(tmp_path / "t.set", ordered(server, tmp_path), Drivers(3))
    assert rows(server) == original
    counts = summary.info["accounting"]
    assert (counts["order_broken"], accounting(summary)[3]) == (0, 0)
    assert counts["order_waits"] > 0


def ordered(server: Server, folder: Path) -> ReplayOptions:
    """Return the options of a replay into t.run that keeps the order of commits."""
    return options(
        server,
        folder / "t.run",
        pace=Pace("none"),
        overrides=Overrides(clock=True, ids=True),
        commit_order=True,
        order_bound_ns=20_000_000_000,
    )


def check_shared(server: Server, original: list[Any], folder: Path) -> None:
    """Replay the set t.set with three drivers, which share tables. Check the rows, the waits and the run."""
    found: list[str] = []

    class Listing(Watcher):
        def finding(self, finding: Finding) -> None:
            found.append(finding.text)

    summary = replay_by_drivers(folder / "t.set", ordered(server, folder), Drivers(3), Listing())
    assert rows(server) == original
    counts = summary.info["accounting"]
    assert (counts["order_broken"], accounting(summary)[3]) == (0, 0)
    assert counts["order_waits"] > 0
    assert any("the drivers wait for each other's commits" in text for text in found)


@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
def test_rows_are_equal_although_the_drivers_share_a_written_table(
    kind: str, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The set is dealt without regard to tables. By table, the tape cannot be dealt, because all sessions are joined."""
    may_capture(request)
    server = server_factory(kind)
    original = record(server, tmp_path / "t.tape", joined=True)
    deal(tmp_path / "t.tape", 3, tmp_path / "t.set")
    with pytest.raises(InputError, match=r"100% of the load must stay together.*customer0\.counter.*with one driver"):
        deal(tmp_path / "t.tape", 3, tmp_path / "by.set", by_table=True)
    check_shared(server, original, tmp_path)


def fight(port: int, client: int) -> None:
    """Run one of eight clients that all change the same twelve rows. The result depends on the order of the commits."""
    rng = random.Random(100 + client)
    with pymysql.connect(host="127.0.0.1", port=port, user="root", database="shared", ssl_disabled=True) as con:
        for _ in range(2 * ROUNDS):
            chosen = sorted(rng.sample(range(HOT), rng.randint(1, 3)))
            with con.cursor() as cursor:
                cursor.execute("BEGIN")
                for row in chosen:
                    cursor.execute(f"UPDATE counter SET n = (n * 7 + {rng.randint(1, 99)}) % 1000003 WHERE id = {row}")
                cursor.execute("ROLLBACK" if rng.random() < 0.1 else "COMMIT")


@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
def test_rows_are_equal_if_eight_clients_on_three_drivers_change_the_same_rows(
    kind: str, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    may_capture(request)
    server = server_factory(kind)
    create(server)
    server.execute(f"INSERT INTO shared.counter VALUES {', '.join(f'({row}, {row})' for row in range(ROWS, HOT))}")
    with recording(server.port, tmp_path / "t.tape"), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda client: fight(server.port, client), range(8)))
    original = rows(server)
    create(server)
    server.execute(f"INSERT INTO shared.counter VALUES {', '.join(f'({row}, {row})' for row in range(ROWS, HOT))}")
    deal(tmp_path / "t.tape", 3, tmp_path / "t.set")
    check_shared(server, original, tmp_path)


def shop_of(server: Server, *tables: str) -> None:
    """Create the schema `shop` with tables of one row each."""
    server.execute("CREATE DATABASE IF NOT EXISTS shop")
    for table in tables:
        server.execute(f"DROP TABLE IF EXISTS shop.{table}")
        server.execute(f"CREATE TABLE shop.{table} (id INT PRIMARY KEY, n BIGINT) ENGINE=InnoDB")
        server.execute(f"INSERT INTO shop.{table} VALUES (1, 1)")


def circles(number: int) -> list[dict[str, Any]]:
    """Return pairs of sessions. Each pair waits in a circle: for a row lock, and for a commit. All pairs have equal
    times.
    """
    events: list[tuple[int, int, str, str]] = []
    for pair in range(number):
        a, b = 2 * pair + 1, 2 * pair + 2
        events += [
            (a, 0, "BEGIN", "transaction"),
            (a, 10, f"UPDATE r{pair} SET n = n + 1 WHERE id = 1", "write"),
            (b, 20, "BEGIN", "transaction"),
            (b, 25, f"UPDATE z{pair} SET n = n * 2 WHERE id = 1", "write"),
            (b, 30, f"UPDATE r{pair} SET n = n * 2 WHERE id = 1", "write"),
            (b, 50, "COMMIT", "transaction"),
            (a, 60, f"UPDATE z{pair} SET n = n * 3 + 1 WHERE id = 1", "write"),
            (a, 100, "COMMIT", "transaction"),
        ]
    return [
        {"session": session, "statement": text, "class": kind, "start_ns": T0 + at * MS, "duration_ns": MS // 10, "db": "shop"}
        for session, at, text, kind in sorted(events, key=lambda event: (event[1], event[0]))
    ]  # fmt: skip


def test_circles_of_equal_times_are_all_broken(mariadb_factory: Any, tmp_path: Path) -> None:
    """The times of the tape contradict the locks of the target, so every pair waits in a circle. Each driver has several
    circles, and their waits are due at the same time. No circle waits for the lock timeout of the server.
    """
    server, pairs = mariadb_factory(), 6
    make_tape(tmp_path / "t.tape", circles(pairs))
    deal(tmp_path / "t.tape", 3, tmp_path / "t.set")
    found = []
    for drivers in (1, 3):
        shop_of(server, *(f"{name}{pair}" for name in "rz" for pair in range(pairs)))
        given = options(
            server, tmp_path / f"{drivers}.run", partial_ok=True, commit_order=True, order_bound_ns=1_000_000_000
        )
        summary = replay_by_drivers(tmp_path / "t.set", given, Drivers(drivers))
        left = [server.execute(f"SELECT r.n, z.n FROM shop.r{pair} r, shop.z{pair} z") for pair in range(pairs)]
        found.append((summary.errors, left))
        assert summary.info["accounting"]["order_broken"] >= pairs
        assert summary.info["elapsed_ns"] < 40_000_000_000  # innodb_lock_wait_timeout is 50 s
    assert found[0] == found[1]


def test_lost_connection_of_one_session_does_not_stop_the_drivers(mariadb_factory: Any, tmp_path: Path) -> None:
    """Its events are not sent, and count as finished."""
    server = mariadb_factory()
    shop_of(server, "log")
    server.execute("ALTER TABLE shop.log MODIFY id INT AUTO_INCREMENT")
    events = [
        {
            "session": session,
            "statement": "SELECT SLEEP(1.5)" if (session, k) == (1, 3) else f"INSERT INTO log (n) VALUES ({k})",
            "class": "read" if (session, k) == (1, 3) else "write",
            "start_ns": T0 + k * 100 * MS + session * MS,
            "duration_ns": MS // 10,
            "db": "shop",
        }
        for session in (1, 2, 3)
        for k in range(8 if session == 1 else 40)
    ]
    make_tape(tmp_path / "t.tape", sorted(events, key=lambda event: event["start_ns"]))
    deal(tmp_path / "t.tape", 3, tmp_path / "t.set")
    given = options(server, tmp_path / "t.run", partial_ok=True, commit_order=True)
    with killing(server, "SELECT SLEEP(1.5)"):
        summary = replay_by_drivers(tmp_path / "t.set", given, Drivers(3))
    assert summary.info["accounting"]["reasons"]["not_sent"] == {"connection_lost": 4}
    assert summary.info["accounting"]["executed"] == len(events) - 4
