# SPDX-License-Identifier: Apache-2.0
"""Rows of the log tables become log entries, which the parsers read like a log file of the server."""

from datetime import datetime, timedelta
from pathlib import Path

from querytape.capture.server_log.log_tables import general_entries, slow_entries
from querytape.native.bindings.parsers import open_general, open_slowlog

from tests.helpers.reading import read_all

AT = datetime(2026, 11, 20, 15, 21, 5, 123456)


def test_slow_log_rows_become_entries(tmp_path: Path) -> None:
    """Each entry keeps the times, row counts, ids, thread and statement of its row. Rows that log a command become
    command events.
    """
    account, none = b"app[app] @ web1 [10.0.0.2]", timedelta(0)
    rows = [
        (AT, account, timedelta(milliseconds=250), none, 3, 7, b"shop", 5, 6, 29, b"SELECT ';\n'"),
        (AT, account, none, none, 0, 0, b"shop", 0, 0, 29, b"Quit"),
    ]
    path = tmp_path / "s.log"
    path.write_bytes(b"".join(slow_entries(iter(rows))))
    query, quit_ = read_all(open_slowlog([path])).events
    assert (query["statement"], query["thread_id"], query["db"], query["user"]) == (b"SELECT ';\n'", 29, "shop", "app")
    assert (query["duration_ns"], query["rows_sent"], query["rows_examined"]) == (250_000_000, 3, 7)
    assert query["start_ns"] == 1795188065_123456_000 - 250_000_000
    assert (query["insert_id"], query["last_insert_id"]) == (6, 5)
    assert (quit_["command"], quit_["statement"]) == ("quit", None)


def test_general_log_rows_become_entries(tmp_path: Path) -> None:
    """Each entry keeps the time, thread, command and argument of its row. The argument may contain arbitrary bytes."""
    rows = [
        (AT, 29, "Connect", b"app@web1 on shop using TCP/IP", b""),
        (AT, 29, "Query", b"SELECT 'caf\xe9'", b""),
        (AT, 29, "Quit", None, b""),
    ]
    path = tmp_path / "g.log"
    path.write_bytes(b"".join(general_entries(iter(rows))))
    events = read_all(open_general([path])).events
    assert [(e["command"], e["statement"]) for e in events] == [
        ("connect", None),
        ("query", b"SELECT 'caf\xe9'"),
        ("quit", None),
    ]
    assert {e["start_ns"] for e in events} == {1795188065_123456_000}
