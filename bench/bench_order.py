# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of --order commit without conflicts: eight sessions, a table for each; --order time is the peer."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..common.duck import sql_text
from ..replay.storage import open_storage
from ..replay.synthetic_tape import make_even_tape
from ..schemas import select_list
from ..servers.sandbox import Server, start_server
from .made_tapes import list_files
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
            f"CREATE TABLE e AS SELECT * REPLACE ({text}::BLOB AS statement, {kind} AS class,"
            f" [1, 0, 0, 2][1 + (seq - 1) % 4]::BIGINT AS actions, {digest} AS digest,"
            f" 20000 AS duration_ns, 'shop' AS db) FROM {sql_text(part)}"
        )
        con.execute(f"COPY (FROM e ORDER BY start_ns) TO {sql_text(part)} (FORMAT parquet)")
        rows = (
            "SELECT digest, any_value(class) AS class, digest AS normalized, 0 AS sample_bytes, count(*) AS events,"
            " min(start_ns) AS first_ns, max(start_ns) AS last_ns, any_value(actions) AS actions,"
            f" any_value(CASE class WHEN 'transaction' THEN [] ELSE [{table}] END) AS tables, []::VARCHAR[] AS calls"
            " FROM e GROUP BY digest"
        )
        have = {"digest", "class", "normalized", "sample_bytes", "events", "first_ns", "last_ns", "actions", "tables"}
        query = f"SELECT {select_list('tape', 'digests', have | {'calls'})} FROM ({rows})"
        con.execute(f"COPY ({query}) TO {sql_text(tape / 'digests.parquet')} (FORMAT parquet)")
    list_files(tape)


def side(order: str, tape: Path, server: Server, work: Path) -> Side:
    """Replay the tape in one of the two orders."""
    options = ("--order", order, "--pace", "none", "--allow-writes", "--target-is-disposable", "--sample", "0s")

    def run() -> Figures:
        info = replay_url(tape, server.url("shop"), work / "x.run", *options)
        accounting = info["accounting"]
        if accounting["order_broken"]:
            raise RuntimeError(f"{accounting['order_broken']} waits were broken")
        return {
            "statements/s": accounting["executed"] / (info["elapsed_ns"] / 1e9),
            "engine CPU us/statement": info["generator"]["engine_cpu_ns"] / 1e3 / accounting["executed"],
        }

    command = f"querytape replay own.tape --target {server.url('shop')} {' '.join(options)} -o x.run"
    return Side(f"--order {order}", command, run)
