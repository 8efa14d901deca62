# SPDX-License-Identifier: Apache-2.0
"""Runs the workload of the demo: several dozen connections that wait, read, buy, cause errors and reconnect.

The seed determines the statements and planned times of each session. The server determines only how long the statements
take.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pymysql

from .shop import CATEGORIES, CUSTOMERS, ORDERS, PRODUCTS, WORDS, order_time

THINK_S = 0.35  # mean time between a customer's steps
KEYS_PER_SESSION = 100_000  # range of ids for the new orders of a session

Connect = Callable[[], "pymysql.connections.Connection[pymysql.cursors.Cursor]"]


@dataclass(frozen=True)
class Step:
    """Statements that a session sends one after another from a planned time on. The session may reconnect first."""

    at_s: float
    statements: tuple[str, ...]
    reconnect: bool = False


@dataclass
class Tally:
    """Totals of all sessions: statements, errors and connects."""

    statements: int = 0
    errors: int = 0
    connects: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, statements: int, errors: int, connects: int) -> None:
        """Add the totals of one session."""
        with self.lock:
            self.statements += statements
            self.errors += errors
            self.connects += connects


class Customer:
    """Generates the steps of one session. The same seed gives the same session."""

    def __init__(self, seed: int, session: int) -> None:
        self._rng = random.Random(seed * 1_000_003 + session)
        self._session = session
        self._next_order = ORDERS + 1 + session * KEYS_PER_SESSION

    def steps(self, seconds: float) -> Iterator[Step]:
        """Yield the steps of a session that lasts `seconds`."""
        kinds, weights = zip(*self._kinds(), strict=True)
        at_s = self._rng.uniform(0, min(1.0, seconds / 2))
        while at_s < seconds:
            kind = self._rng.choices(kinds, weights)[0]
            yield Step(at_s, kind(), reconnect=self._rng.random() < 0.015)
            at_s += self._rng.expovariate(1 / THINK_S)

    def _kinds(self) -> list[tuple[Callable[[], tuple[str, ...]], float]]:
        kinds: list[tuple[Callable[[], tuple[str, ...]], float]] = [
            (self._product, 30),
            (self._my_orders, 18),
            (self._order_details, 14),
            (self._category, 12),
            (self._buy, 10),
            (self._visit, 6),
            (self._price_range, 5),
            (self._search, 3),
            (self._mistake, 2),
        ]
        if self._session % 16 == 0:  # a few sessions are office staff
            kinds.append((self._month_report, 8))
            kinds.append((self._best_customers, 8))
        return kinds

    def _skewed(self, top: int) -> int:
        """Return a random number in 1..top. Small numbers are far more frequent, so a few items are popular."""
        return 1 + int(top * self._rng.random() ** 3)

    def _product(self) -> tuple[str, ...]:
        return (f"SELECT id, name, price, stock FROM products WHERE id = {self._skewed(PRODUCTS)}",)

    def _my_orders(self) -> tuple[str, ...]:
        customer = self._skewed(CUSTOMERS)
        return (
            f"SELECT name, visits FROM customers WHERE id = {customer}",
            f"SELECT id, placed_at, state, total FROM orders WHERE customer_id = {customer}"
            " ORDER BY placed_at DESC LIMIT 10",
        )

    def _order_details(self) -> tuple[str, ...]:
        order = self._rng.randint(1, ORDERS)
        return (
            "SELECT l.line, p.name, l.quantity, l.price FROM order_lines l"
            f" JOIN products p ON p.id = l.product_id WHERE l.order_id = {order} ORDER BY l.line",
        )

    def _category(self) -> tuple[str, ...]:
        category = self._rng.choice(CATEGORIES)
        return (f"SELECT id, name, price FROM products WHERE category = '{category}' ORDER BY price LIMIT 20",)

    def _buy(self) -> tuple[str, ...]:
        order, self._next_order = self._next_order, self._next_order + 1
        wanted = sorted({self._skewed(PRODUCTS) for _ in range(self._rng.randint(1, 4))})
        placed = order_time(ORDERS + self._rng.randint(1, 100))
        lines = (
            f"INSERT INTO order_lines VALUES ({order}, {line}, {product}, 1, 9.90)"
            for line, product in enumerate(wanted, start=1)
        )
        taken = (f"UPDATE products SET stock = stock - 1 WHERE id = {product}" for product in wanted)
        end = "ROLLBACK" if self._rng.random() < 0.1 else "COMMIT"
        return (
            "START TRANSACTION",
            f"INSERT INTO orders VALUES ({order}, {self._skewed(CUSTOMERS)}, '{placed}', 'paid', 9.9, 'web')",
            *lines,
            *taken,
            end,
        )

    def _visit(self) -> tuple[str, ...]:
        return (f"UPDATE customers SET visits = visits + 1 WHERE id = {self._skewed(CUSTOMERS)}",)

    def _price_range(self) -> tuple[str, ...]:
        low = self._rng.randint(1, 150)
        return (f"SELECT COUNT(*), AVG(price) FROM products WHERE price BETWEEN {low} AND {low + 20}",)

    def _search(self) -> tuple[str, ...]:
        word = self._rng.choice(WORDS)
        return (f"SELECT id, name FROM products WHERE name LIKE '%{word} thing%' ORDER BY name LIMIT 50",)

    def _mistake(self) -> tuple[str, ...]:
        return (
            self._rng.choice(
                (
                    "INSERT INTO customers VALUES (1, 'Twice', 'c1@example.org', 0)",
                    f"SELECT * FROM wishlist WHERE customer_id = {self._skewed(CUSTOMERS)}",
                    "SELECT id, name FROM products WHERE id = = 7",
                )
            ),
        )

    def _month_report(self) -> tuple[str, ...]:
        return (
            "SELECT p.category, MONTH(o.placed_at) AS month, SUM(l.quantity * l.price) AS revenue"
            " FROM order_lines l JOIN orders o ON o.id = l.order_id JOIN products p ON p.id = l.product_id"
            " GROUP BY p.category, MONTH(o.placed_at) ORDER BY revenue DESC",
        )

    def _best_customers(self) -> tuple[str, ...]:
        return (
            "SELECT customer_id, note, SUM(total) AS spent FROM orders"
            " GROUP BY customer_id, note ORDER BY spent DESC LIMIT 25",
        )


def drive(connect: Connect, seconds: float, sessions: int, seed: int = 1) -> Tally:
    """Run all sessions and wait for their end. Each session has its own thread and its own connection."""
    tally = Tally()
    start = time.monotonic()
    stop = threading.Event()
    threads = [
        threading.Thread(
            target=_session, args=(connect, list(Customer(seed, number).steps(seconds)), start, stop, tally)
        )
        for number in range(sessions)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        stop.set()
        raise
    return tally


def _session(connect: Connect, steps: list[Step], start: float, stop: threading.Event, tally: Tally) -> None:
    """Run the steps of one session.

    Connection errors after `stop` is set are ignored, because the server may be gone.
    """
    try:
        _steps(connect, steps, start, stop, tally)
    except (pymysql.MySQLError, OSError):
        if not stop.is_set():
            raise


def _steps(connect: Connect, steps: list[Step], start: float, stop: threading.Event, tally: Tally) -> None:
    """Run each step at its planned time or later. Late steps are not dropped."""
    statements = errors = 0
    connects = 1
    connection = connect()
    for step in steps:
        if stop.wait(max(0.0, start + step.at_s - time.monotonic())):
            break
        if step.reconnect:
            connection.close()
            connection = connect()
            connects += 1
        for statement in step.statements:
            statements += 1
            try:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    cursor.fetchall()
            except pymysql.MySQLError:
                errors += 1
    connection.close()
    tally.add(statements, errors, connects)
