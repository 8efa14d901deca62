# SPDX-License-Identifier: Apache-2.0
"""Sessions that were already open when the log began. The capture adds their state to the tape and changes nothing
else.
"""

from pathlib import Path
from typing import Any

import pytest
from querytape.capture import Settings, capture
from querytape.schemas.names import FLAGS
from querytape.servers.client_sessions import OpenSession, OpenSessions, PreparedText

from tests.helpers.duck import query

# A MariaDB slow log with whole seconds, a statement of more than one second, and a statement of another account.
SLOW = """\
/usr/sbin/mariadbd, Version: 10.11.6-MariaDB. started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 240610  8:13:20
# User@Host: app[app] @ web1 [10.0.0.1]
# Thread_id: 7  Schema: shop  QC_hit: No
# Query_time: 2.500000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1
SET timestamp=1718007200;
SELECT SLEEP(2.5);
# User@Host: app[app] @ web1 [10.0.0.1]
# Thread_id: 8  Schema: shop  QC_hit: No
# Query_time: 0.100000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1
SET timestamp=1718007200;
SELECT 8;
# User@Host: app[app] @ web1 [10.0.0.1]
# Thread_id: 7  Schema: shop  QC_hit: No
# Query_time: 0.100000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1
SET timestamp=1718007200;
SELECT 7;
# User@Host: other[other] @ web1 [10.0.0.1]
# Thread_id: 9  Schema: shop  QC_hit: No
# Query_time: 0.100000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1
SET timestamp=1718007201;
SELECT 9;
"""
EXACT = """\
/usr/sbin/mysqld, Version: 8.0.31 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
2024-06-10T08:13:20.100000Z\t    7 Query\tSELECT 1
2024-06-10T08:13:20.200000Z\t    8 Connect\tlater@web1 on shop using TCP/IP
2024-06-10T08:13:20.300000Z\t    8 Query\tSELECT 2
2024-06-10T08:13:20.400000Z\t    7 Query\tSELECT 3
"""
AUDIT = """\
20240610 08:13:20,db1,app,web1,7,1,QUERY,shop,'SELECT 1',0
20240610 08:13:20,db1,app,web1,8,2,CONNECT,shop,,0
20240610 08:13:20,db1,app,web1,8,3,QUERY,shop,'SELECT 2',0
20240610 08:13:21,db1,app,web1,7,4,QUERY,shop,'SELECT 3',0
"""
COLUMNS = "thread_id, statement::VARCHAR, start_ns, duration_ns, flags"
KNOWN = OpenSessions(
    tuple(
        OpenSession(
            id_,
            "app",
            "before",
            "10.0.0.1",
            5000 + id_,
            {"sql_mode": "ANSI_QUOTES"},
            45,
            {"a": b"1"},
            [PreparedText(3, None, "SELECT ?"), PreparedText(4, "p", "SELECT 4")],
        )
        for id_ in (7, 8, 9, 10)
    ),
    {"sql_mode": ""},
)


def rows(text: str, kind: str, path: Path, known: OpenSessions | None) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Return the events of a log, its sessions and its tape.json."""
    log = path.with_suffix(".log")
    log.write_text(text)
    tape = capture(log, path, kind, Settings(timezone_ns=0, open_sessions=known))
    order = "ORDER BY thread_id, seq"
    events = query(f"SELECT {COLUMNS} FROM '{path}/events/*.parquet' {order}")
    columns = 'thread_id, "user", db, port, charset, open_at_start'
    return events, query(f"SELECT {columns} FROM '{path}/sessions.parquet' ORDER BY 1"), tape.info


@pytest.mark.parametrize(("kind", "text"), [("slowlog", SLOW), ("general", EXACT), ("audit", AUDIT)])
def test_open_sessions_begin_with_their_state(kind: str, text: str, tmp_path: Path) -> None:
    """State is added for a session that was open before, occurs in the log and has the same account. The log's own
    events do not change.
    """
    without, _, _ = rows(text, kind, tmp_path / "without", None)
    events, sessions, info = rows(text, kind, tmp_path / "with", KNOWN)
    carried = [row for row in events if row[4] & FLAGS["carried"]]
    assert [row for row in events if not row[4] & FLAGS["carried"]] == without
    expected = ["SET SESSION sql_mode = \\x27ANSI_QUOTES\\x27", "SET @`a` = 1", "PREPARE `p` FROM \\x27SELECT 4\\x27"]
    open_ids = (7, 8) if kind == "slowlog" else (7,)  # 9 has another account; only the slow log lacks a login of 8
    assert [row[:2] for row in carried] == [(id_, each) for id_ in open_ids for each in expected]
    firsts = {id_: min(row[2] for row in without if row[0] == id_) for id_ in open_ids}
    assert [row[2] for row in carried] == [firsts[id_] for id_ in open_ids for _ in expected]
    assert sessions[0] == (7, "app", "before", 5007, "45", True)
    assert info["open_sessions"]["carried"] == len(carried)
    assert info["open_sessions"]["asked"] == "after"


def test_general_log_uses_accounts_from_the_server(tmp_path: Path) -> None:
    """A general log does not contain the account of a session that was already open. The server provides the account."""
    rows(EXACT, "general", tmp_path / "t", KNOWN)
    users = query(f"SELECT DISTINCT thread_id, \"user\", db FROM '{tmp_path}/t/events/*.parquet' ORDER BY 1")
    assert users == [(7, "app", "before"), (8, "later", "shop")]
