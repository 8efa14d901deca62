# SPDX-License-Identifier: Apache-2.0
"""Creates and fills the shop of the demo: four tables with about 100,000 rows, identical on every run."""

import random
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from pymysql.connections import Connection

CUSTOMERS = 5_000
PRODUCTS = 2_000
ORDERS = 24_000
CATEGORIES = ("books", "music", "garden", "kitchen", "toys", "sports", "office", "travel")
WORDS = ("red", "small", "classic", "folding", "steel", "wooden", "light", "quiet", "spare", "garden")
STATES = ("paid", "packed", "sent", "returned")
OPENED = datetime(2024, 1, 1)
ROWS_PER_INSERT = 2_000

SCHEMA = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "USE shop",
    """CREATE TABLE customers (
        id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, email VARCHAR(80) NOT NULL,
        visits INT NOT NULL DEFAULT 0, UNIQUE KEY email (email))""",
    """CREATE TABLE products (
        id INT PRIMARY KEY, name VARCHAR(80) NOT NULL, category VARCHAR(20) NOT NULL,
        price DECIMAL(8,2) NOT NULL, stock INT NOT NULL, KEY category (category, price))""",
    """CREATE TABLE orders (
        id INT PRIMARY KEY, customer_id INT NOT NULL, placed_at DATETIME NOT NULL, state VARCHAR(10) NOT NULL,
        total DECIMAL(10,2) NOT NULL, note VARCHAR(200) NOT NULL, KEY customer (customer_id, placed_at))""",
    """CREATE TABLE order_lines (
        order_id INT NOT NULL, line INT NOT NULL, product_id INT NOT NULL, quantity INT NOT NULL,
        price DECIMAL(8,2) NOT NULL, PRIMARY KEY (order_id, line), KEY product (product_id))""",
)


def create_shop(connection: "Connection[Any]", seed: int = 1) -> int:
    """Create and fill the shop. Return its number of rows."""
    rng = random.Random(seed)
    loaded = 0
    with connection.cursor() as cursor:
        for statement in SCHEMA:
            cursor.execute(statement)
        for table, rows in (
            ("customers", _customers()),
            ("products", _products(rng)),
            ("orders", _orders(rng)),
            ("order_lines", _order_lines(rng)),
        ):
            for batch in _batches(rows):
                cursor.execute(f"INSERT INTO {table} VALUES {', '.join(batch)}")
                loaded += len(batch)
        cursor.execute("ANALYZE TABLE customers, products, orders, order_lines")
    return loaded


def order_time(order: int) -> datetime:
    """Return the time of a loaded order. There is one order every ten minutes."""
    return OPENED + timedelta(minutes=10 * order)


def _customers() -> Iterator[str]:
    for number in range(1, CUSTOMERS + 1):
        yield f"({number}, 'Customer {number}', 'c{number}@example.org', 0)"


def _products(rng: random.Random) -> Iterator[str]:
    for number in range(1, PRODUCTS + 1):
        name = f"{rng.choice(WORDS)} {rng.choice(WORDS)} thing {number}"
        yield f"({number}, '{name}', '{rng.choice(CATEGORIES)}', {rng.randint(100, 20_000) / 100}, 100000)"


def _orders(rng: random.Random) -> Iterator[str]:
    for number in range(1, ORDERS + 1):
        note = " ".join(rng.choices(WORDS, k=12))
        yield (
            f"({number}, {rng.randint(1, CUSTOMERS)}, '{order_time(number)}', '{rng.choice(STATES)}',"
            f" {rng.randint(500, 50_000) / 100}, '{note}')"
        )


def _order_lines(rng: random.Random) -> Iterator[str]:
    for order in range(1, ORDERS + 1):
        for line in range(1, rng.randint(1, 5) + 1):
            product, price = rng.randint(1, PRODUCTS), rng.randint(100, 20_000) / 100
            yield f"({order}, {line}, {product}, {rng.randint(1, 4)}, {price})"


def _batches(rows: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_PER_INSERT:
            yield batch
            batch = []
    if batch:
        yield batch
