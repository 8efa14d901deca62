# SPDX-License-Identifier: Apache-2.0
"""Find sessions that have a capture's settings. `--renew-idle` ends only idle sessions that are older than the capture."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.capture.server_log.sessions import (
    Renewal,
    Span,
    carriers,
    carrying_now,
    end_idle,
    idle_sessions,
    listed,
    lock_holders,
    renewal_notes,
)
from querytape.common.errors import RefusedError

from tests.helpers.fake_server import FakeServer
from tests.helpers.tiers import mostly_long

from ...conftest import ServerFactory
from .test_run import begin

SPAN = Span(first=10, last=20)
# Opened before the capture; before it and reset later; before it with another user's own value 0. Then opened during
# the capture; during it with its own value; after it.
SESSIONS = {3: 10.0, 4: 0.0, 5: 0.0, 12: 0.0, 13: 2.0, 25: 0.0}
ON = [("wait/lock/metadata/sql/mdl", "YES"), ("wait/lock/table/sql/handler", "YES")]
UNKNOWN = pymysql.err.ProgrammingError(1109, "no such table")


def found(server: FakeServer, span: Span) -> list[tuple[int, bool]]:
    """Return (id, certain) of each session found."""
    return [(carrier.id, carrier.certain) for carrier in carriers(server.connection(), span) or ()]


def test_mysql_sessions_are_found_by_their_values() -> None:
    """MySQL shows the value of a session's long_query_time. A session that was reset is found. A session with a value
    of its own is not found.
    """
    assert found(FakeServer({}, SESSIONS), replace(SPAN, already=frozenset({5}))) == [(4, True), (12, True)]
    assert carrying_now(FakeServer({}, SESSIONS).connection()) == (4, 5, 12, 25)


def test_mariadb_sessions_are_found_by_id_and_log() -> None:
    """MariaDB does not show session values. Sessions that connected during the capture are uncertain. An older session
    is certain if the log has its short statements. The tool's own sessions are never found.
    """
    server = FakeServer({}, SESSIONS)
    server.shows_values = False
    assert found(server, SPAN) == [(12, False), (13, False)]
    span = replace(SPAN, seen=frozenset({4}), own=frozenset({13}))
    assert found(server, span) == [(4, True), (12, False)]
    assert carrying_now(server.connection()) == ()


def test_long_session_list_is_shortened_with_a_count() -> None:
    many = FakeServer({}, dict.fromkeys(range(11, 21), 0.0))
    text = listed(carriers(many.connection(), SPAN) or [])
    assert text.startswith("11 (app@web1), 12 (app@web1)")
    assert text.endswith(", and 2 more")


def test_only_idle_sessions_are_ended() -> None:
    """Sessions in a transaction are not ended. A session that has already ended causes no error. A missing privilege
    gives a message.
    """
    server = FakeServer({}, {11: 0.0, 12: 0.0, 13: 0.0, 14: 0.0})
    server.busy = {11}
    server.answers = [
        ("innodb_trx", [(12,)]),
        ("KILL CONNECTION 13", pymysql.err.OperationalError(1094, "Unknown thread id: 13")),
    ]
    con = server.connection()
    assert end_idle(con, carriers(con, SPAN) or []) == [14]
    server.answers = [("KILL", pymysql.err.OperationalError(1095, "You are not owner of thread"))]
    with pytest.raises(RefusedError, match="1095"):
        end_idle(con, carriers(con, SPAN) or [])
    server.answers = [("innodb_trx", pymysql.err.OperationalError(1227, "Access denied"))]
    with pytest.raises(RefusedError, match="PROCESS"):
        end_idle(con, carriers(con, SPAN) or [])


def pool(sessions: dict[int, float]) -> FakeServer:
    """Return a fake server with these sessions. It shows locks only through the given answers."""
    server = FakeServer({}, sessions)
    server.answers = [
        ("innodb_trx", [(14,)]),
        ("METADATA_LOCK_INFO", UNKNOWN),
        ("setup_instruments", ON),
        ("metadata_locks", [(15,)]),
        ("CONNECTION_ID", [(99,)]),
    ]
    return server


def test_renewal_ends_sessions_at_a_steady_rate() -> None:
    """The rate of ended sessions is the same over the whole time. Sessions that were not ended stay open."""
    server, renewal = pool(dict.fromkeys(range(1, 11), 10.0)), Renewal(1.5)
    con = server.connection()
    for elapsed, ended in ((0.5, 0), (1.0, 1), (2.0, 3), (2.1, 3), (3.0, 4)):
        renewal.step(con, elapsed, 10, {1})
        assert len(server.killed) == ended
    assert server.killed == [2, 3, 4, 5]
    assert [one["thread_id"] for one in renewal.as_json()["ended"]] == server.killed
    assert renewal.sentence().startswith("--renew-idle ended 4 idle sessions")
    assert Renewal().sentence() == ""


def test_renewal_never_ends_protected_sessions() -> None:
    """Protected sessions are the tool's own, busy ones, and those with a transaction or locks. Sessions that connected
    later, that are already logged, and replicas or server threads are also protected.
    """
    server = pool({1: 10.0, 12: 10.0, 13: 10.0, 14: 10.0, 15: 10.0, 16: 0.0, 31: 10.0})
    server.busy = {13}
    others = [
        (20, "repl", "r:1", None, "Binlog Dump", 9, ""),
        (21, "system user", "", None, "Sleep", 9, ""),
        (22, "event_scheduler", "localhost", None, "Daemon", 9, ""),
        (23, "app", "web1:1", None, "Sleep", 5, ""),
        (12, "app", "web1:1", None, "Sleep", 9, ""),
    ]
    rows = server.answer("SHOW PROCESSLIST", ())
    server.answers.append(("SHOW PROCESSLIST", [row for row in rows if row[0] != 12] + others))
    assert idle_sessions(server.connection(), 30, {1}) == [(12, "app@web1"), (23, "app@web1")]


def test_locks_hidden_by_the_server_are_reported() -> None:
    """The test covers servers that show locks through MariaDB's plugin, metadata locks, table locks, or not at all."""
    server = pool({1: 10.0})
    assert lock_holders(server.connection()).not_shown == ()
    server.answers[2:4] = [("setup_instruments", ON[1:]), ("table_handles", [(7,)])]
    shown = lock_holders(server.connection())
    assert (set(shown.ids), shown.not_shown) == ({7}, ("GET_LOCK", "FLUSH TABLES WITH READ LOCK"))
    assert "does not show: GET_LOCK" in renewal_notes(server.connection(), 5.0, False)[1]
    server.answers[2:4] = [("setup_instruments", [])]
    assert lock_holders(server.connection()).not_shown == ("GET_LOCK", "LOCK TABLES", "FLUSH TABLES WITH READ LOCK")
    server.answers[1] = ("METADATA_LOCK_INFO", [(8,)])
    assert lock_holders(server.connection()).ids == {8}
    assert "nothing to do" in renewal_notes(server.connection(), 5.0, True)[0]


def test_refused_kill_does_not_end_the_capture() -> None:
    """The summary contains the reason why no session was ended."""
    server, renewal = pool(dict.fromkeys(range(1, 11), 10.0)), Renewal(5.0)
    server.answers.insert(0, ("KILL", pymysql.err.OperationalError(1095, "You are not owner of thread 1")))
    for _ in range(2):
        renewal.step(server.connection(), 1.0, 10, ())
    assert renewal.ended == []
    assert "gave up: session 1:" in renewal.sentence()
    server.answers[:2] = [("innodb_trx", UNKNOWN)]
    assert "needs PROCESS" in renewal_notes(server.connection(), 5.0, False)[0]


@pytest.mark.long
@pytest.mark.server
@pytest.mark.parametrize("name", mostly_long(["mysql80", "mariadb"], "mysql80"))
def test_renewal_ends_idle_sessions_of_a_real_server(name: str, server_factory: ServerFactory, tmp_path: Path) -> None:
    """Idle sessions end and are listed on the tape. Sessions that hold a transaction, a locked table or (MySQL) a
    GET_LOCK stay open.
    """
    server = server_factory(name, {"performance-schema": "ON"})
    server.execute("CREATE DATABASE d")
    server.execute("CREATE TABLE d.t (i INT) ENGINE = InnoDB")
    idle: list[Any] = [server.connect("d") for _ in range(4)]
    kept = {text: server.connect("d") for text in ("BEGIN; SELECT * FROM t", "LOCK TABLES t READ")}
    if name == "mysql80":
        kept["SELECT GET_LOCK('a', 1)"] = server.connect("d")
    for text, con in kept.items():
        for part in text.split("; "):
            ask(con, part)
    plan = begin(server.url(), tmp_path, "--renew-idle", "50/s", "--dry-run").communicate(timeout=120)[1]
    assert f"50 a second at most: {len(idle)} are so now" in plan
    assert ("does not show: GET_LOCK" in plan) == (name == "mariadb")
    assert all(alive(con) for con in idle)  # the dry run ended no session
    words = ("--renew-idle", "50/s", "--duration", "5s", "--partial-ok", "-o", str(tmp_path / "t.tape"))
    process = begin(server.url(), tmp_path, *words)
    said = "".join(process.communicate(timeout=120))
    assert not any(alive(con) for con in idle)
    assert all(alive(con) for con in kept.values())
    assert f"--renew-idle ended {len(idle)} idle sessions" in said
    if process.returncode == 0:  # no tape if nothing was logged: the server's own statements are excluded
        info = json.loads((tmp_path / "t.tape" / "tape.json").read_text())
        ended = [one["thread_id"] for one in info["renewed"]["ended"]]
        assert sorted(ended) == sorted(con.thread_id() for con in idle)


def ask(con: Any, sql: str) -> None:
    """Send a statement."""
    with con.cursor() as cursor:
        cursor.execute(sql)
        cursor.fetchall()


def alive(con: Any) -> bool:
    """Return whether a session still answers."""
    try:
        ask(con, "DO 1")
    except (pymysql.Error, OSError):
        return False
    return True
