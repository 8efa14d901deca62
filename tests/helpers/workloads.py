# SPDX-License-Identifier: Apache-2.0
"""Workloads of our own whose outcome depends on the order of commits, for recording and replaying.

Each has a schema and one client's statements; every client uses a random generator of its own, with a fixed seed.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection
from querytape.servers.sandbox import Server

Client = Callable[["Connection[Any]", random.Random, int], None]
ROUNDS_A_VISIT = 15


@dataclass(frozen=True)
class Workload:
    """A schema as statements, what one client does `rounds` times, and the tables whose contents count."""

    name: str
    schema: Sequence[str]
    client: Client
    tables: Sequence[str]
    numbered: Sequence[str]  # tables whose first column the server generates

    def create(self, server: Server) -> None:
        """Make the schema `shop` as it is before the clients run."""
        server.execute("DROP DATABASE IF EXISTS shop")
        server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
        for statement in self.schema:
            server.execute(statement, db="shop")

    def drive(self, port: int, clients: int, rounds: int, seed: int = 1, think_s: float = 0.002) -> None:
        """Let clients run beside each other through a port of the loopback, thinking up to `think_s` in between.

        Every client leaves and comes back now and then.
        """

        def run(number: int) -> None:
            rng = random.Random(seed * 1000 + number)
            given: dict[str, Any] = {"user": "root", "database": "shop", "autocommit": True, "ssl_disabled": True}
            for first in range(0, rounds, ROUNDS_A_VISIT):
                with closing(pymysql.connect(host="127.0.0.1", port=port, **given)) as connection:
                    for _ in range(first, min(first + ROUNDS_A_VISIT, rounds)):
                        time.sleep(rng.random() * think_s)
                        with suppress(pymysql.err.OperationalError):  # a deadlock: the transaction is gone
                            self.client(connection, rng, number)

        threads = [threading.Thread(target=run, args=(n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def contents(self, server: Server, ids: bool = True) -> dict[str, list[Any]]:
        """Return every row of the tables that count, without generated ids where those are not known."""
        rows = {table: server.execute(f"SELECT * FROM shop.{table}") for table in self.tables}
        cut = {table: 0 if ids or table not in self.numbered else 1 for table in rows}
        return {table: sorted((row[cut[table] :] for row in found), key=repr) for table, found in rows.items()}


def differences(a: dict[str, list[Any]], b: dict[str, list[Any]]) -> int:
    """Return how many rows are in one and not in the other."""
    found = 0
    for table in a:
        mine, theirs = Counter(map(repr, a[table])), Counter(map(repr, b[table]))
        found += (mine - theirs).total() + (theirs - mine).total()
    return found


def _run(connection: "Connection[Any]", *statements: str) -> Any:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()


def _change_objects(connection: "Connection[Any]", rng: random.Random, who: int) -> None:
    """Change an object and write its history, link it to tags; sums that do not commute show the order.

    Which of two writes of their own that overlapped was first no packet tells: those commute with each other.
    """
    thing, other, tag = rng.randint(1, 12), rng.randint(1, 12), rng.randint(1, 6)
    kind = rng.random()
    if kind < 0.3:
        _run(connection, f"UPDATE object SET version = (version + {who + 1}) % 1000003 WHERE id = {thing}")
    elif kind < 0.7:
        (version,) = _run(connection, "BEGIN", f"SELECT version FROM object WHERE id = {thing} FOR UPDATE")[0]
        _run(
            connection,
            f"INSERT INTO history (object_id, version, who, at) VALUES ({thing}, {version}, {who}, CURDATE())",
            f"UPDATE object SET version = (version * 7 + {who}) % 1000003, note = 'by {who}' WHERE id = {thing}",
            "COMMIT" if rng.random() < 0.9 else "ROLLBACK",
        )
    elif kind < 0.9:
        low, high = sorted((thing, other))
        _run(
            connection,
            "BEGIN",
            f"SELECT id FROM object WHERE id IN ({low}, {high}) ORDER BY id FOR UPDATE",
            f"REPLACE INTO object_tag (object_id, tag_id, weight) VALUES ({thing}, {tag}, {who})",
            f"DELETE FROM object_tag WHERE object_id = {other} AND tag_id = {rng.randint(1, 6)}",
            f"UPDATE object SET version = (version + {tag}) * 2 % 1000003 WHERE id = {thing}",
            "COMMIT",
        )
    else:
        _run(connection, "SELECT o.id, COUNT(*) FROM object o JOIN object_tag t ON t.object_id = o.id GROUP BY o.id")


OBJECTS = Workload(
    "objects",
    (
        "CREATE TABLE object (id INT PRIMARY KEY, version BIGINT NOT NULL, note VARCHAR(20) NOT NULL DEFAULT '')",
        "CREATE TABLE history (id INT AUTO_INCREMENT PRIMARY KEY, object_id INT, version BIGINT, who INT, at DATE)",
        "CREATE TABLE object_tag (object_id INT, tag_id INT, weight INT, PRIMARY KEY (object_id, tag_id))",
        "INSERT INTO object (id, version) VALUES " + ", ".join(f"({n}, {n})" for n in range(1, 13)),
    ),
    _change_objects,
    ("object", "history", "object_tag"),
    ("history",),
)


def _trade(connection: "Connection[Any]", rng: random.Random, who: int) -> None:
    """New order, payment, delivery, stock level: a small TPC-C."""
    district, customer = rng.randint(1, 4), rng.randint(1, 20)
    items = sorted(rng.sample(range(1, 31), 4))
    kind = rng.random()
    if kind < 0.45:
        (number,) = _run(connection, "BEGIN", f"SELECT next_order FROM district WHERE id = {district} FOR UPDATE")[0]
        _run(
            connection,
            f"UPDATE district SET next_order = next_order + 1 WHERE id = {district}",
            f"INSERT INTO orders VALUES ({district}, {number}, {customer}, CURDATE(), NULL)",
            *(f"UPDATE stock SET quantity = IF(quantity > 12, quantity - {n % 7 + 1}, quantity + 91 - {n % 7})"
              f" WHERE item = {n}" for n in items),
            "COMMIT",
        )  # fmt: skip
    elif kind < 0.88:
        _run(
            connection,
            "BEGIN",
            f"UPDATE district SET paid = paid + {who + 1} WHERE id = {district}",
            f"UPDATE customer SET balance = ROUND(balance * 1.01 - {who + 1}, 2) WHERE id = {customer}",
            f"INSERT INTO payment (customer, amount) VALUES ({customer}, {who + 1})",
            "COMMIT",
        )
    elif kind < 0.94:
        _run(
            connection,
            "BEGIN",
            f"UPDATE orders SET delivered = {who} WHERE district = {district} AND delivered IS NULL"
            " ORDER BY number LIMIT 2",
            "COMMIT",
        )
    else:
        _run(connection, f"SELECT COUNT(*) FROM stock WHERE quantity < {rng.randint(10, 60)}")


TRADE = Workload(
    "trade",
    (
        "CREATE TABLE district (id INT PRIMARY KEY, next_order INT NOT NULL, paid BIGINT NOT NULL)",
        "CREATE TABLE customer (id INT PRIMARY KEY, balance DECIMAL(20, 2) NOT NULL)",
        "CREATE TABLE orders (district INT, number INT, customer INT, at DATE, delivered INT,"
        " PRIMARY KEY (district, number))",
        "CREATE TABLE stock (item INT PRIMARY KEY, quantity INT NOT NULL)",
        "CREATE TABLE payment (id INT AUTO_INCREMENT PRIMARY KEY, customer INT, amount INT)",
        "INSERT INTO district VALUES (1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0)",
        "INSERT INTO customer VALUES " + ", ".join(f"({n}, {n}00)" for n in range(1, 21)),
        "INSERT INTO stock VALUES " + ", ".join(f"({n}, 50)" for n in range(1, 31)),
    ),
    _trade,
    ("district", "customer", "orders", "stock", "payment"),
    ("payment",),
)


def _queue(connection: "Connection[Any]", rng: random.Random, who: int) -> None:
    """Take numbers, serve the first of a queue, look for rows that are not there and add them: locks of gaps."""
    queue, key, kind = rng.randint(1, 4), rng.randint(1, 400), rng.random()
    if kind < 0.35:
        ((last,),) = _run(connection, "BEGIN", f"SELECT MAX(number) FROM queue WHERE id = {queue} FOR UPDATE")
        _run(
            connection,
            f"INSERT INTO queue VALUES ({queue}, {(last or 0) + 1}, {who})",
            f"UPDATE total SET n = (n * 3 + {who}) % 1000003 WHERE id = {queue}",
            "COMMIT",
        )
    elif kind < 0.6:
        first = _run(
            connection, "BEGIN", f"SELECT number FROM queue WHERE id = {queue} ORDER BY number LIMIT 1 FOR UPDATE"
        )
        for (number,) in first:
            _run(
                connection,
                f"DELETE FROM queue WHERE id = {queue} AND number = {number}",
                f"UPDATE total SET n = (n * 5 + {who}) % 1000003 WHERE id = {queue}",
            )
        _run(connection, "COMMIT" if rng.random() < 0.9 else "ROLLBACK")
    elif kind < 0.85:
        asked = f"SELECT id, who FROM item WHERE k BETWEEN {key} AND {key + 10} FOR UPDATE"
        added, cut = (
            f"INSERT INTO item (k, who) VALUES ({key}, {who})",
            f"DELETE FROM item WHERE k BETWEEN {key} AND {key + 3}",
        )
        _run(connection, added if len(_run(connection, "BEGIN", asked)) < 5 else cut, "COMMIT")
    else:
        _run(connection, f"INSERT INTO item (k, who) VALUES ({key}, {who})")


QUEUES = Workload(
    "queues",
    (
        "CREATE TABLE queue (id INT, number INT, who INT, PRIMARY KEY (id, number))",
        "CREATE TABLE total (id INT PRIMARY KEY, n BIGINT)",
        "CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, k INT, who INT, KEY (k))",
        "INSERT INTO total VALUES (1, 1), (2, 1), (3, 1), (4, 1)",
        "INSERT INTO item (k, who) VALUES (50, 0), (100, 0), (150, 0), (200, 0), (300, 0)",
    ),
    _queue,
    ("queue", "total", "item"),
    ("item",),
)
