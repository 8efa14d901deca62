# SPDX-License-Identifier: Apache-2.0
"""Selection of events. Related commands stay with their EXECUTE, transactions stay complete, and events that set the
session state are added.
"""

from typing import Any

import duckdb
import pytest
from querytape.common.duck import open_database
from querytape.schemas import EventFilter, ddl
from querytape.schemas.event_selection import (
    SelectionTables,
    define_macros,
    find_transactions,
    preparing_sql,
    selection_sql,
)
from querytape.schemas.names import ACTIONS, PROPERTIES

D = "d" * 16
P = "e" * 16
COLUMNS = "seq BIGINT, start_ns BIGINT, command VARCHAR, class VARCHAR, actions BIGINT, digest VARCHAR, stmt BIGINT"
# events of one session: seq, start_ns, command, class, actions, digest, stmt
EVENTS: list[tuple[Any, ...]] = [
    (1, 10, "connect", None, None, None, None),
    (2, 20, "prepare", "write", None, D, 1),
    (3, 30, "query", "session", None, None, None),
    (4, 40, "ping", None, None, None, None),
    (5, 50, "query", "write", None, P, None),  # PREPARE as an SQL statement
    (6, 60, "query", "ddl", ACTIONS["temporary_table"], None, None),
    (7, 70, "long_data", None, None, None, 1),
    (8, 80, "query", "transaction", ACTIONS["begin"], None, None),
    (9, 100, "query", "write", None, None, None),
    (10, 110, "query", "transaction", ACTIONS["commit"], None, None),
    (11, 120, "execute", "write", None, D, 1),  # uses the long data of the previous events
    (12, 130, "fetch", None, None, None, 1),
    (13, 140, "reset_stmt", None, None, None, 1),
    (14, 150, "close_stmt", None, None, None, 1),
    (15, 160, "quit", None, None, None, None),
]


def events(con: duckdb.DuckDBPyConnection) -> None:
    """Create the view tape_events."""
    con.execute(f"CREATE TABLE given ({COLUMNS})")
    con.executemany("INSERT INTO given VALUES (?, ?, ?, ?, ?, ?, ?)", EVENTS)
    con.execute(
        "CREATE VIEW tape_events AS SELECT *, 1::BIGINT AS session, start_ns AS tape_ns, 0::BIGINT AS flags,"
        " 'shop' AS db, 0 AS errno FROM given"
    )


@pytest.mark.parametrize(
    ("kept", "seqs"),
    [
        ({"from_ns": 100}, [2, 3, 5, 6, 7, 11, 12, 13, 14, 15]),
        ({"from_ns": 80, "to_ns": 115}, [2, 3, 5, 6, 8, 9, 10]),
        ({"to_ns": 75}, [1, 2, 3, 4, 5, 6]),
        ({"digests": (D,)}, [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15]),
        ({"from_ns": 1000}, []),
    ],
)
def test_selection_keeps_related_events(kept: dict[str, Any], seqs: list[int]) -> None:
    """Long data and RESET belong to the next EXECUTE. FETCH belongs to the previous EXECUTE. A transaction begins with
    its BEGIN.
    """
    choice = EventFilter(**kept)
    with open_database() as con:
        define_macros(con)
        events(con)
        con.execute("CREATE TABLE chosen AS SELECT 1::BIGINT AS session, 160 AS last_ns, 15 AS events")
        con.execute(
            "CREATE TABLE digests AS SELECT * FROM (VALUES (?, ?::BIGINT), (?, 0)) t(digest, properties)",
            [P, PROPERTIES["prepares_text"], D],
        )
        con.execute(f"CREATE TABLE preparing AS {preparing_sql('digests')}")
        find_transactions(con, choice, "transactions")
        con.execute(f"CREATE TABLE companions AS {ddl('companions')}")
        tables = SelectionTables("chosen", "transactions", "companions", "preparing")
        query = selection_sql(choice, "tape_events", tables)
        found = con.execute(f"SELECT seq FROM ({query}) WHERE filtered IS NULL ORDER BY seq").fetchall()
    assert [seq for (seq,) in found] == seqs
