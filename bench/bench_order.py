# SPDX-License-Identifier: Apache-2.0
"""What --order commit costs where sessions don't conflict: eight sessions, a table for each, beside --order time."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..replay.sandbox import Server, start_server
from ..replay.storage import open_storage
from ..replay.synthetic import make_even_tape
from ..schemas import sql_text
from .pairs import Figures, Pair, Side
from .replaying import replay_url

SESSIONS = 8
ROUNDS = 4_000  # of BEGIN, UPDATE, SELECT, COMMIT in each session


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the one measurement."""
    server = stack.enter_context(start_server("mariadb"))
    server.execute("CREATE DATABASE shop")
    for n in range(SESSIONS):
        server.execute(f"CREATE TABLE shop.own{n} (id INT PRIMARY KEY, v BIGINT)")
        server.execute(f"INSERT INTO shop.own{n} VALUES " + ", ".join(f"({k}, 0)" for k in range(100)))
    tape = work / "own.tape"
    make_tape(tape)
    yield Pair(
        f"--order commit, {SESSIONS} sessions with a table each, transactions of four statements",
        side("commit", tape, server, work),
        side("time", tape, server, work),
        "The peer is querytape itself with --order time.",
    )


def make_tape(tape: Path) -> None:
    """Write a tape of transactions that each session makes on its own table."""
    make_even_tape(tape, SESSIONS, SESSIONS * ROUNDS * 4, 20_000)
    part = tape / "events" / "part-00000.parquet"
    table = "'own' || (session - 1)"
    text = (
        f"['BEGIN', 'UPDATE ' || {table} || ' SET v = v + 1 WHERE id = ' || (seq % 100),"
        f" 'SELECT v FROM ' || {table} || ' WHERE id = ' || (seq % 100), 'COMMIT'][1 + (seq - 1) % 4]"
    )
    kind = "['transaction', 'write', 'read', 'transaction'][1 + (seq - 1) % 4]"
    digest = "lpad(to_hex(session * 4 + seq % 4), 16, '0')"
    with open_storage(tape) as con:
        con.execute(
            f"CREATE TABLE e AS SELECT * REPLACE ({text}::BLOB AS statement, {kind} AS class, {digest} AS digest,"
            f" 20000 AS duration_ns, 'shop' AS db) FROM {sql_text(part)}"
        )
        con.execute(f"COPY (FROM e ORDER BY start_ns) TO {sql_text(part)} (FORMAT parquet)")
        con.execute(
            "COPY (SELECT digest, any_value(class) AS class, lower(any_value(statement)::VARCHAR) AS normalized FROM e"
            f" GROUP BY digest) TO {sql_text(tape / 'digests.parquet')} (FORMAT parquet)"
        )


def side(order: str, tape: Path, server: Server, work: Path) -> Side:
    """Replay the tape in one of the two orders."""
    options = ("--order", order, "--pace", "none", "--allow-writes", "--target-is-disposable", "--sample", "0s")

    def run() -> Figures:
        info = replay_url(tape, server.url("shop"), work / "x.run", *options)
        books = info["accounting"]
        if books["order_broken"]:
            raise RuntimeError(f"{books['order_broken']} waits were broken")
        return {
            "statements/s": books["executed"] / (info["elapsed_ns"] / 1e9),
            "engine CPU us/statement": info["generator"]["engine_cpu_ns"] / 1e3 / books["executed"],
        }

    command = f"querytape replay own.tape --target {server.url('shop')} {' '.join(options)} -o x.run"
    return Side(f"--order {order}", command, run)
