# SPDX-License-Identifier: Apache-2.0
"""The order of commits next to DDL, LOCK TABLES, triggers and views. No wait is broken. Times are in milliseconds."""

from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from querytape.replay import replay
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import accounting, options

from ..conftest import ServerFactory

REPEATS = 3
TABLES = ("a", "b", "c", "total")
CLASSES = {
    "select": "read",
    "alter": "ddl",
    "create": "ddl",
    "lock": "admin",
    "update": "write",
}  # the others: transaction
Statement = tuple[int, float, float, str]  # session, begin, end, text
# Each case is a history that is possible on a server: every statement that waited for a lock got it.
CASES: dict[str, list[Statement]] = {
    "LOCK TABLES of a table with a trigger next to an open transaction": [
        (1, 0, 1, "begin"),
        (1, 10, 14, "update a set n = n + 1 where id = 1"),
        (2, 12, 16, "lock tables c write"),
        (2, 18, 19, "unlock tables"),
        (1, 20, 21, "commit"),
        (3, 40, 41, "alter table a comment 'x'"),
    ],
    "LOCK TABLES that waited for longer than other statements": [
        (1, 0, 1, "begin"),
        (2, 5, 2900, "lock tables b write"),
        (1, 6, 7, "select n from b"),
        (1, 2890, 2891, "commit"),
        (2, 2901, 2902, "unlock tables"),
    ],
    "write that waited long for LOCK TABLES": [
        (1, 0, 1, "begin"),
        (1, 2, 3, "select n from b"),
        (2, 5, 2000, "lock tables b write"),
        (3, 10, 2103, "update b set n = n + 1 where id = 1"),
        (1, 1990, 1991, "commit"),
        (2, 2100, 2101, "unlock tables"),
    ],
    "DDL answered after LOCK TABLES that waited for it": [
        (1, 0, 20, "alter table a comment 'x'"),
        (2, 5, 19, "lock tables a write, c read"),
        (2, 22, 23, "update a set n = n + 1 where id = 1"),
        (2, 25, 26, "unlock tables"),
    ],
    "DDL of the table that a trigger changes": [
        (1, 0, 20, "alter table total comment 'x'"),
        (2, 1, 2, "begin"),
        (2, 5, 19, "update c set n = n + 1 where id = 1"),
        (2, 22, 23, "update c set n = n + 1 where id = 2"),
        (2, 25, 26, "commit"),
    ],
    "write by a trigger next to a transaction on the same row": [
        (1, 0, 20, "update c set n = n + 1 where id = 1"),
        (2, 1, 2, "begin"),
        (2, 5, 19, "update total set n = n + 1 where id = 1"),
        (2, 22, 23, "update total set n = n + 1 where id = 1"),
        (2, 25, 26, "commit"),
    ],
    "DDL next to two transactions of which one ends first": [
        (1, 0, 20, "alter table a comment 'x'"),
        (2, 1, 2, "begin"),
        (3, 1, 2, "begin"),
        (2, 5, 15, "update a set n = n + 1 where id = 1"),
        (3, 5, 16, "update a set n = n + 1 where id = 2"),
        (2, 17, 18, "commit"),
        (3, 25, 26, "commit"),
    ],
    "LOCK TABLES after LOCK TABLES": [
        (1, 0, 1, "lock tables a write"),
        (2, 2, 2.5, "begin"),
        (2, 2.6, 2.8, "update b set n = n + 1 where id = 1"),
        (2, 3, 12, "update a set n = n + 1 where id = 1"),
        (1, 10, 20, "lock tables b write"),
        (2, 14, 15, "commit"),
        (1, 22, 23, "unlock tables"),
    ],
    "read of a view next to DDL of its table": [
        (1, 0, 10, "alter table b comment 'x'"),
        (2, 1, 2, "begin"),
        (2, 3, 12, "select * from v"),
        (2, 14, 15, "update a set n = n + 1 where id = 1"),
        (2, 16, 17, "commit"),
        (3, 3, 11, "begin"),
        (3, 11.5, 12, "commit"),
    ],
    "transaction that reads a table after DDL": [
        (1, 0, 20, "alter table b add column m int"),
        (2, 1, 2, "begin"),
        (2, 18, 19, "select * from a"),
        (2, 22, 23, "select * from b"),
        (2, 24, 25, "update b set n = n + 1 where id = 1"),
        (2, 26, 27, "commit"),
    ],
    "transaction that reads a table after DDL that waited for another transaction": [
        (3, 0, 1, "begin"),
        (3, 2, 3, "update b set n = n + 1 where id = 1"),
        (1, 4, 20, "alter table b comment 'x'"),
        (2, 5, 6, "begin"),
        (2, 7, 8, "select * from a"),
        (3, 15, 16, "commit"),
        (2, 22, 23, "select * from b"),
        (2, 24, 25, "commit"),
    ],
    "transaction that reads a table whose trigger changes the table of DDL": [
        (2, 0, 1, "begin"),
        (2, 2, 3, "update total set n = n + 1 where id = 1"),
        (4, 4, 4.5, "begin"),
        (1, 5, 60, "alter table total comment 'x'"),
        (4, 6, 7, "select * from c"),
        (2, 20, 21, "commit"),
        (4, 70, 71, "commit"),
    ],
    "transaction that got its lock while DDL waited for another transaction": [
        (2, 0, 1, "begin"),
        (2, 2, 3, "select * from b"),
        (3, 13, 13.5, "begin"),
        (4, 14, 14.5, "begin"),
        (1, 15, 70, "alter table b engine = innodb"),
        (3, 15.5, 16.5, "update b set n = n + 1 where id = 1"),
        (3, 18, 28, "update b set n = n + 1 where id = 2"),
        (2, 19, 20, "commit"),
        (4, 22, 23, "select * from c"),
        (3, 40, 41, "commit"),
        (4, 71, 72, "update a set n = n + 1 where id = 1"),
        (4, 80, 81, "commit"),
    ],
    "transaction that changes a table after DDL": [
        (3, 0, 1, "begin"),
        (3, 2, 3, "update a set n = n + 1 where id = 1"),
        (3, 4, 5, "commit"),
        (1, 0, 20, "alter table b add key (n)"),
        (2, 1, 2, "begin"),
        (2, 18, 30, "select * from a"),
        (2, 32, 33, "update b set n = n + 1 where n > 0"),
        (2, 34, 35, "commit"),
    ],
}


# Histories in which a session ends without COMMIT, and the rows of `a` after them.
ENDINGS: dict[str, tuple[list[Statement], list[int]]] = {
    "under LOCK TABLES": (
        [
            (1, 0, 1, "lock tables a write"),
            *((1, 2 + n, 2.5 + n, "update a set n = n * 2 + 1 where id = 1") for n in range(8)),
            (1, 12, 12.1, "quit"),
            (2, 3, 12.5, "update a set n = n + 7 where id = 1"),
            (3, 13, 14, "update a set n = n * 3 where id = 1"),
        ],
        [((1 + 1) * 2**8 - 1 + 7) * 3, 2],
    ),
    "inside a transaction": (
        [
            (1, 0, 1, "begin"),
            *((1, 2 + n, 2.5 + n, f"update a set n = n * 2 + 1 where id = {1 + n % 2}") for n in range(8)),
            (1, 12, 12.1, "quit"),
            (2, 3, 12.5, "update a set n = n + 7 where id = 1"),
            (3, 13, 14, "update a set n = n * 3 where id = 1"),
        ],
        [(1 + 7) * 3, 2],
    ),
}


# Histories in which the tape creates the trigger or the view, and the rows of `a` after them.
CREATED: dict[str, tuple[list[Statement], list[int]]] = {
    "a trigger": (
        [
            (1, 0, 1, "create trigger b_u after update on b for each row update a set n = n * 3 + new.id where id = 1"),
            (2, 10, 11, "begin"),
            (2, 12, 13, "update a set n = n * 2 + 1 where id = 1"),
            (3, 14, 30, "update b set n = n + 1 where id = 1"),
            (2, 20, 21, "commit"),
            *((2 + n % 2, 40 + n, 40.5 + n, f"update {'ab'[n % 2]} set n = n * 2 + 1 where id = 1") for n in range(8)),
        ],
        [reduce(lambda n, k: n * 3 + 1 if k % 2 else n * 2 + 1, range(8), (1 * 2 + 1) * 3 + 1), 2],
    ),
    "a view": (
        [
            (1, 0, 1, "create view w as select * from a"),
            *(
                (2 + n % 3, 10 + n, 10.5 + n, f"update {'aw'[n % 2]} set n = n * 2 + {n} where id = 1")
                for n in range(12)
            ),
        ],
        [reduce(lambda n, k: n * 2 + k, range(12), 1), 2],
    ),
}


def create(server: Server) -> None:
    """Create the tables, a trigger that changes `total`, and a view."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    for table in TABLES:
        server.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n BIGINT) ENGINE=InnoDB", db="shop")
        server.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 2)", db="shop")
    server.execute(
        "CREATE TRIGGER c_u AFTER UPDATE ON c FOR EACH ROW UPDATE total SET n = n + 1 WHERE id = NEW.id", db="shop"
    )
    server.execute("CREATE VIEW v AS SELECT * FROM b", db="shop")


def event(statement: Statement) -> dict[str, Any]:
    """Return the event of a statement."""
    session, begin, end, text = statement
    times = {"start_ns": T0 + int(begin * MS), "duration_ns": int((end - begin) * MS)}
    if text == "quit":
        return {"session": session, "command": "quit", "statement": None, "class": None, "db": "shop", **times}
    kind = CLASSES.get(text.split()[0], "transaction")
    return {"session": session, "statement": text, "class": kind, "errno": 0, "db": "shop", **times}


def replay_case(server: Server, folder: Path, statements: list[Statement]) -> list[list[Any]]:
    """Replay a history several times. Check that no wait was broken. Return the rows of `a` after each replay."""
    make_tape(
        folder / "t.tape", [event(each) for each in sorted(statements, key=lambda each: each[1])], source="packets"
    )
    found = []
    for number in range(REPEATS):
        create(server)
        given = {"pace": Pace("none"), "commit_order": True, "order_bound_ns": 2_000_000_000, "partial_ok": True}
        summary = replay(folder / "t.tape", options(server, folder / f"{number}.run", **given))
        assert (summary.info["accounting"]["order_broken"], accounting(summary)[3], summary.errors) == (0, 0, {})
        found.append([*server.execute("SELECT n FROM shop.a ORDER BY id")])
    return found


@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
@pytest.mark.parametrize("case", CASES)
def test_no_wait_is_broken_next_to_table_locks(
    case: str, kind: str, server_factory: ServerFactory, tmp_path: Path
) -> None:
    replay_case(server_factory(kind), tmp_path, CASES[case])


@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
@pytest.mark.parametrize("case", CREATED)
def test_rows_are_equal_if_the_tape_creates_what_hides_tables(
    case: str, kind: str, server_factory: ServerFactory, tmp_path: Path
) -> None:
    statements, rows = CREATED[case]
    assert replay_case(server_factory(kind), tmp_path, statements) == [[(row,) for row in rows]] * REPEATS


@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
@pytest.mark.parametrize("case", ENDINGS)
def test_rows_are_equal_after_a_session_that_ends_without_commit(
    case: str, kind: str, server_factory: ServerFactory, tmp_path: Path
) -> None:
    statements, rows = ENDINGS[case]
    found = replay_case(server_factory(kind), tmp_path, statements)
    assert found == [[(row,) for row in rows]] * REPEATS
