# SPDX-License-Identifier: Apache-2.0
"""The small TPC-C: functions that compile its program, create its schema with seeded rows, and run its clients."""

import random
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from querytape.servers.sandbox import Server

HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[2] / "build" / "tpcc"
DIALECTS = ("text", "prepared", "procedures")
TABLES = ("warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock")
DISTRICTS, CUSTOMERS, ITEMS, ORDERS, LINES = 10, 30, 100, 20, 5
# The foreign keys of tpcc-mysql.
KEYS = (
    "ALTER TABLE district ADD FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)",
    "ALTER TABLE orders ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)",
    "ALTER TABLE new_order ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
    "ALTER TABLE order_line ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
)


def build() -> str | None:
    """Compile the client program. Return the reason of a failure, or None."""
    if shutil.which("go") is None:
        return "no go on this machine"
    command = ["go", "build", "-o", str(BUILT), "."]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=600)
    return None if done.returncode == 0 else f"go build failed: {done.stderr[-300:]!r}"


def create(server: Server, warehouses: int = 1, keys: bool = False, inside: bool = False) -> None:
    """Create the schema `shop`, each time with the same rows. `keys`: the tables have foreign keys. `inside`: the
    procedures, not the client, begin and commit the transactions.
    """
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
    statements = (HERE / "schema.sql").read_text().split(";\n")
    lines = (HERE / "procedures.sql").read_text().splitlines(keepends=True)
    statements += "".join(line for line in lines if inside or not line.endswith("-- inside\n")).split(";;\n")
    for statement in filter(str.strip, statements):
        server.execute(statement, db="shop")
    rng = random.Random(7)
    fill(server, "item", ((n, rng.randint(1, 100)) for n in range(1, ITEMS + 1)))
    for w in range(1, warehouses + 1):
        fill(server, "warehouse", [(w, w)])
        fill(server, "stock", ((n, w, rng.randint(10, 100), 0, 0) for n in range(1, ITEMS + 1)))
        for d in range(1, DISTRICTS + 1):
            _fill_district(server, rng, w, d)
    for statement in KEYS if keys else ():
        server.execute(statement, db="shop")


def _fill_district(server: Server, rng: random.Random, w: int, d: int) -> None:
    orders = range(1, ORDERS + 1)
    fill(server, "district", [(d, w, d, ORDERS + 1)])
    named = ((n, d, w, f"'F{n % 7}'", f"'NAME{n % 10}'", n % 50, n * 10, 0, "''") for n in range(1, CUSTOMERS + 1))
    fill(server, "customer", named)
    fill(server, "orders", ((n, d, w, n, "'2026-01-01'", "NULL", LINES, 1) for n in orders))
    fill(server, "new_order", ((n, d, w) for n in orders if n > ORDERS // 2))
    lines = ((n, d, w, k, rng.randint(1, ITEMS), "NULL", 5, 50) for n in orders for k in range(1, LINES + 1))
    fill(server, "order_line", lines)


def fill(server: Server, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows whose values are SQL expressions."""
    values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
    server.execute(f"INSERT INTO {table} VALUES {values}", db="shop")


def drive(port: int, dialect: str, clients: int, rounds: int, **more: object) -> str:
    """Run the clients against a loopback port. Return the summary that the program prints."""
    dsn = f"root@tcp(127.0.0.1:{port})/shop?tls=false&multiStatements=true"
    given = {"dialect": dialect, "clients": clients, "rounds": rounds, **more}
    command = [str(BUILT), "-dsn", dsn, *(f"-{key}={value}" for key, value in given.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.strip()


def contents(server: Server) -> dict[str, list[Any]]:
    return {table: sorted(server.execute(f"SELECT * FROM shop.{table}"), key=repr) for table in TABLES}


def checksums(server: Server) -> Any:
    return server.execute("CHECKSUM TABLE " + ", ".join(f"shop.{table}" for table in TABLES))
