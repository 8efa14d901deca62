# SPDX-License-Identifier: Apache-2.0
"""Tests that a replay reproduces the session state from each login, and the number of warnings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql.connections
import pytest
from pymysql.charset import Charset
from querytape.capture.library import capture
from querytape.capture.source import Settings
from querytape.replay import replay
from querytape.replay.checks.preflight import Finding
from querytape.replay.plan.pacing import Pace
from querytape.replay.watcher import Watcher
from querytape.servers.sandbox import Server

from tests.helpers.relay import Relay
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import accounting, options, query

COM_PREPARE, COM_EXECUTE, COM_CLOSE, COM_FETCH, COM_RESET, COM_CHANGE_USER = 0x16, 0x17, 0x19, 0x1C, 0x1F, 0x11
LOGINS = (8, 31, 33, 45, 46, 83, 224, 255)  # latin1 (2), utf8mb3 (2), utf8mb4 (4: general, bin, unicode, 0900)
CONNECTION: Any = pymysql.connections.Connection  # the type stubs of PyMySQL lack its private attributes
SCHEMA = (
    "CREATE TABLE seen (login INT, what VARCHAR(20), client VARCHAR(64), connection VARCHAR(64), results VARCHAR(64),"
    " accent INT, blank INT, literal VARBINARY(20))",
    "CREATE TABLE texts (n INT PRIMARY KEY, t VARCHAR(20))",
    "INSERT INTO texts VALUES (1,'a'),(2,'b'),(3,'c'),(4,'d'),(5,'e'),(6,'f'),(7,'g'),(8,'h'),(9,'i'),(10,'j'),(11,'k')",
)


class Client(CONNECTION):  # type: ignore[misc]
    """A client that logs in with any collation, sends no SET NAMES, and prepares statements with or without cursors."""

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """Keep the charset and the collation of the login."""

    def answer(self, command: int, payload: bytes, packets: int) -> list[Any]:
        """Send a command, and return the given number of packets from its answer."""
        self._execute_command(command, payload)
        return [self._read_packet() for _ in range(packets)]

    def change_user(self, collation: int) -> None:
        """Send COM_CHANGE_USER for the same user, who has no password."""
        packet = self.answer(
            COM_CHANGE_USER, b"root\0\0shop\0" + bytes([collation, 0]) + b"mysql_native_password\0\0", 1
        )
        if packet[0].is_auth_switch_request():
            self.write_packet(b"")
            self._read_packet()

    def prepared(self, sql: str, fetches: tuple[int, ...] = ()) -> None:
        """Prepare, execute and close a SELECT of one column. If `fetches` has row counts, use a cursor."""
        head = self.answer(COM_PREPARE, sql.encode(), 3)[0]
        number = head.get_all_data()[1:5]
        self.answer(COM_EXECUTE, number + bytes([1 if fetches else 0]) + b"\1\0\0\0", 3)
        while not fetches and not self._read_packet().is_eof_packet():
            pass
        for rows in fetches:
            self._execute_command(COM_FETCH, number + rows.to_bytes(4, "little"))
            while not self._read_packet().is_eof_packet():
                pass
        self._execute_command(COM_CLOSE, number)


def log_in(port: int, collation: int, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a client that has logged in with a collation id."""
    monkeypatch.setattr(pymysql.connections, "charset_by_name", lambda name: Charset(collation, name, "", False))
    return Client(
        host="127.0.0.1", port=port, user="root", database="shop", charset="utf8mb4", autocommit=None, ssl_disabled=True
    )


def look(client: Client, login: int, what: str) -> None:
    """Store the session's charset settings in a table."""
    client.query(
        f"INSERT INTO shop.seen SELECT {login}, '{what}', @@character_set_client, @@collation_connection,"
        " @@character_set_results, 'e' = 'E', 'a' = 'a ', 'é'"
    )


@pytest.fixture
def shop(server: Server) -> Iterator[Server]:
    """Provide each kind of server in turn, with empty tables."""
    fresh(server)
    yield server
    server.execute("DROP DATABASE IF EXISTS shop")


def fresh(server: Server) -> None:
    """Create the tables in their initial state."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
    for statement in SCHEMA:
        server.execute(statement, "shop")


def tape_of(relay: Relay, tmp_path: Path) -> Path:
    """Make a tape of the packets that went through a relay."""
    capture(relay.write(tmp_path / "a.pcap"), tmp_path / "a.tape", "packets", Settings(extra={"port": (3306,)}))
    return tmp_path / "a.tape"


@pytest.mark.sampled
def test_login_collations_are_replayed(shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The charset and the collation are equal after a login, a connection reset and a change of user."""
    with Relay(shop.port) as relay:
        for login in LOGINS:
            client = log_in(relay.port, login, monkeypatch)
            look(client, login, "login")
            client.answer(COM_RESET, b"", 1)
            look(client, login, "reset")
            client.query("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
            client.change_user(login)
            look(client, login, "user")
            client.close()
    tape = tape_of(relay, tmp_path)
    knows = query(f"SELECT list(charset ORDER BY session) FROM '{tape}/sessions.parquet'")[0][0]
    assert knows == [str(login) for login in LOGINS]
    want = shop.execute("SELECT * FROM seen ORDER BY login, what", "shop")
    assert len({row[3] for row in want}) > 5
    fresh(shop)
    found: list[Finding] = []
    summary = replay(tape, options(shop, tmp_path / "a.run"), Listening(found))
    accounting(summary)
    known = {row[0] for row in shop.execute("SELECT id FROM information_schema.COLLATIONS")}
    got = shop.execute("SELECT * FROM seen ORDER BY login, what", "shop")
    assert [row for row in got if row[0] in known] == [row for row in want if row[0] in known]
    said = [finding.text for finding in found if "collation" in finding.text]
    assert len(said) == (0 if known >= {*LOGINS} else 1)
    assert all(text.startswith("1 session logged in with collation 255 (utf8mb4_0900_ai_ci)") for text in said)


class Listening(Watcher):
    """Records the findings of the replay's checks."""

    def __init__(self, found: list[Finding]) -> None:
        self._found = found

    def finding(self, finding: Finding) -> None:
        self._found.append(finding)


@pytest.mark.sampled
def test_warning_counts_of_prepared_reads_are_replayed(
    shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reads run with a cursor, without a cursor, as text, and in a procedure with several results."""
    shop.execute("CREATE PROCEDURE warns() BEGIN SELECT t + 0 FROM texts WHERE n < 8; SELECT 1; END", "shop")
    with Relay(shop.port) as relay:
        client = log_in(relay.port, 45, monkeypatch)
        for rows in (7, 11, 3):
            sql = f"SELECT t + 0 FROM texts WHERE n <= {rows} ORDER BY n"
            client.prepared(sql)
            client.prepared(sql, (2, 1, 20))
            client.query(sql)
        client.query("CALL warns()")
        while client.next_result():
            pass
        client.query("INSERT IGNORE INTO texts VALUES (1, 'x'), (2, 'y'), (20, REPEAT('z', 30))")
        client.close()
    tape = tape_of(relay, tmp_path)
    fresh(shop)
    shop.execute("CREATE PROCEDURE warns() BEGIN SELECT t + 0 FROM texts WHERE n < 8; SELECT 1; END", "shop")
    summary = replay(tape, options(shop, tmp_path / "a.run"))
    accounting(summary)
    rows = query(
        f"SELECT e.command, e.statement::VARCHAR, e.warnings, o.warnings FROM '{tape}/events/*.parquet' e"
        f" JOIN '{summary.path}/outcomes/*.parquet' o USING (session, seq) WHERE o.status = 'executed'"
        " ORDER BY session, seq"
    )
    assert [row for row in rows if row[0] != "quit" and (row[2] or 0) != row[3]] == []
    for command in ("execute", "query"):
        assert max(row[2] for row in rows if row[0] == command) == 11, rows


@pytest.mark.parametrize("pace", ["none", "schedule"])
def test_session_may_begin_in_a_schema_that_the_tape_creates(pace: Any, any_shop: Server, tmp_path: Path) -> None:
    """Its connection opens before the first event, without a schema. Events without an existing schema are not sent."""
    texts = [
        (1, "ddl", "shop", "create database fresh"),
        (1, "ddl", "shop", "create table fresh.t (n int primary key)"),
        (2, "write", "fresh", "insert into t values (1)"),
        (2, "write", "fresh", "insert into t values (2)"),
        (3, "read", "gone", "select 1"),
        (1, "write", "shop", "insert into fresh.t values (3)"),
    ]
    events = [
        {"session": session, "class": kind, "db": db, "statement": text, "errno": 0}
        | {"start_ns": T0 + number * 50 * MS, "duration_ns": MS}
        for number, (session, kind, db, text) in enumerate(texts)
    ]
    tape = make_tape(tmp_path / "t.tape", events, source="packets")
    any_shop.execute("DROP DATABASE IF EXISTS fresh")
    given = {"pace": Pace(pace), "commit_order": True, "partial_ok": True}
    summary = replay(tape, options(any_shop, tmp_path / "a.run", **given))
    rows = [*any_shop.execute("SELECT n FROM fresh.t ORDER BY n")]
    any_shop.execute("DROP DATABASE fresh")
    assert rows == [(1,), (2,), (3,)]
    assert summary.info["accounting"]["reasons"] == {"not_sent": {"schema_failed": 1}}
    assert query(f"SELECT errno, error FROM '{summary.path}/outcomes/*.parquet' WHERE reason IS NOT NULL") == [
        (1049, "Unknown database 'gone'")
    ]
