# SPDX-License-Identifier: Apache-2.0
"""A connection pool that was open before the capture. With --source, a tape of packets contains the pool's session
state and can be replayed.
"""

import json
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import pymysql
import pytest
from querytape.replay import replay
from querytape.schemas.names import FLAGS
from querytape.servers.sandbox import Server

from tests.helpers.binary_client import Prepared
from tests.helpers.tapes import make_tape
from tests.helpers.whole import accounting, options, query

from ..conftest import ServerFactory
from ..helpers.live import may_capture, wait_until_it_listens

POOL, ROUNDS = 50, 4
INSERT, SELECT = "INSERT INTO t (n, c) VALUES (?, ?)", "SELECT n FROM t WHERE n = ? AND c <> '?'"
READ, WRITE = 'SELECT "n", @tenant, @@time_zone FROM t WHERE n = {}', "UPDATE t SET c = 'y' WHERE n = {}"
STATE = "SET sql_mode = 'ANSI_QUOTES', time_zone = '+03:00', @tenant = {}, @name = 'it''s'"


@pytest.fixture(name="may_capture")
def _may_capture(request: pytest.FixtureRequest) -> None:
    """Skip the test if this user cannot capture on a network interface."""
    may_capture(request)


def make_schema(server: Server) -> None:
    """Create the schema of the pool."""
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, c VARCHAR(20))")
    server.execute("CREATE USER pool@'%' IDENTIFIED BY ''")
    server.execute("GRANT ALL ON *.* TO pool@'%'")


class Pool:
    """Connections with session state. Each connection has two prepared statements."""

    def __init__(self, server: Server, size: int = POOL) -> None:
        self.clients: list[tuple[Any, Prepared, Prepared]] = []
        for number in range(size):
            con = pymysql.connect(
                host="127.0.0.1",
                port=server.port,
                user="pool",
                database="shop",
                charset="utf8mb4",
                autocommit=True,
                ssl_disabled=True,
            )
            with con.cursor() as cursor:
                cursor.execute(STATE.format(number))
            self.clients.append((con, Prepared(con, INSERT), Prepared(con, SELECT)))

    def work(self) -> None:
        """Run statements. Half of them were prepared before the capture."""
        for turn in range(ROUNDS):
            for number, (con, insert, select) in enumerate(self.clients):
                insert.execute(number, f"x{turn}")
                select.execute(number)
                with con.cursor() as cursor:
                    cursor.execute(READ.format(number))
                    cursor.execute(WRITE.format(number))

    def close(self) -> None:
        for con, *_ in self.clients:
            con.close()


class Works(Protocol):
    """Clients that run statements while a capture records them."""

    def work(self) -> None:
        """Run the statements."""


def record(server: Server, tape: Path, pool: Works) -> tuple[dict[str, Any], str, int]:
    """Capture the packets of the pool's work. Return tape.json, the output of the command and its exit code."""
    words = ["packets", "--interface", "lo", "--port", str(server.port), "--source", server.url(), "-o", str(tape)]
    command = [sys.executable, "-m", "querytape", "capture", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_it_listens(process)
        pool.work()
        time.sleep(1.0)
    finally:
        process.send_signal(signal.SIGINT)
        said = "".join(process.communicate(timeout=60))
    return json.loads((tape / "tape.json").read_text()), said, process.returncode


def logged(server: Server) -> Counter[tuple[str, str]]:
    """Return the commands of the pool's accounts in the general log of the target, without constants."""
    rows = server.execute(
        "SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        " WHERE command_type IN ('Query', 'Execute')"
        """ AND argument REGEXP '^(INSERT INTO t |SELECT n FROM t |SELECT "n"|UPDATE t )'"""
    )
    return Counter((str(kind), str(text).split()[0]) for kind, text in rows)


@pytest.mark.long
@pytest.mark.usefixtures("may_capture")
@pytest.mark.parametrize("name", ["mysql80", "mariadb"])
def test_statements_of_an_older_pool_are_replayed(name: str, server_factory: ServerFactory, tmp_path: Path) -> None:
    """Some of the statements were prepared before the capture. The target's general log shows that they were executed."""
    source = server_factory(name, {"performance-schema": "ON"})
    target = server_factory(name, {"general-log": "ON", "log-output": "TABLE"})
    make_schema(source)
    make_schema(target)
    pool = Pool(source)
    info, said, code = record(source, tmp_path / "pool.tape", pool)
    before, done = pool.clients, POOL * ROUNDS
    assert (info["warnings"], code) == ([], 0), said
    assert info["open_sessions"] | {"carried": 0} == {
        "sessions": POOL,
        "found": POOL,
        "carried": 0,
        "prepared": 2 * POOL,
        "asked": "before",
        "not_restored": {},
        "not_shown": ["variables and character sets"] if name == "mariadb" else [],
    }
    assert f"sessions open on the source: {POOL}. The tape contains {POOL} of these sessions" in said
    ids = query(f"SELECT thread_id, \"user\", open_at_start FROM '{tmp_path}/pool.tape/sessions.parquet'")
    assert sorted(ids) == sorted((con.thread_id(), "pool", True) for con, *_ in before)
    pool.close()
    summary = replay(tmp_path / "pool.tape", options(target, tmp_path / "pool.run", speed=None))
    carried = info["open_sessions"]["carried"]
    assert accounting(summary) == (4 * done + carried, 0, 0, 0)
    assert summary.info["state"] == {"restored": carried, "failed": {}, "not_sent": {}}
    columns = "n, c, COUNT(*)"
    rows = f"SELECT {columns} FROM shop.t GROUP BY n, c ORDER BY n, c"
    assert target.execute(rows) == source.execute(rows)
    seen = logged(target)
    assert dict(seen) == {
        ("Execute", "INSERT"): done,
        ("Execute", "SELECT"): done,
        ("Query", "SELECT"): done,
        ("Query", "UPDATE"): done,
    }
    errors = query(f"SELECT count(*) FROM '{tmp_path}/pool.run/outcomes/*.parquet' WHERE errno <> 0")
    # MariaDB does not show the sql_mode of a session, so "n" is a string instead of a column name. The statement still
    # succeeds.
    assert errors == [(0,)]


@pytest.mark.long
@pytest.mark.usefixtures("may_capture")
def test_hidden_prepared_statements_are_reported(server_factory: ServerFactory, tmp_path: Path) -> None:
    """MariaDB disables performance_schema by default. The accounts are then known, but statements that were prepared
    before the capture are unknown.
    """
    source = server_factory("mariadb", {"performance-schema": "OFF"})
    make_schema(source)
    pool = Pool(source)
    info, said, _ = record(source, tmp_path / "pool.tape", pool)
    pool.close()
    (warning,) = [one["text"] for one in info["warnings"] if one["kind"] == "open_sessions"]
    assert f"the prepared statements of {POOL} sessions" in warning
    assert f"partial tape: {warning}" in said
    users = query(f"SELECT DISTINCT \"user\" FROM '{tmp_path}/pool.tape/sessions.parquet'")
    assert users == [("pool",)]


@pytest.mark.long
@pytest.mark.usefixtures("may_capture")
def test_unknown_parameter_types_are_counted(server_factory: ServerFactory, tmp_path: Path) -> None:
    """Some drivers send parameter types only once. Types that other connections send, and types that arrive later, are
    used.
    """
    source = server_factory("mysql80", {"performance-schema": "ON"})
    make_schema(source)

    class Once:
        """A client that leaves out the parameter types in its second and third execution."""

        def __init__(self, con: Any) -> None:
            self.con, self.insert = con, Prepared(con, INSERT)
            self.insert.execute(1, "x")

        def work(self) -> None:
            """Execute a statement with types before the capture. Execute again after other clients have sent types, and
            at last with new types.
            """
            for number in (2, 3):
                self.without_types(number)
            pool.clients[1][1].execute(5, "y")
            self.without_types(6)
            self.insert.execute(4, "x")

        def without_types(self, number: int) -> None:
            """Execute a statement without parameter types."""
            head = struct.pack("<IBI", self.insert.number, 0, 1)
            self.con._execute_command(0x17, head + b"\0\0" + struct.pack("<q", number) + b"\1x")
            self.con._read_packet()

    pool = Pool(source, 2)
    once = Once(pool.clients[0][0])
    info, said, _ = record(source, tmp_path / "pool.tape", once)
    pool.close()
    assert source.execute("SELECT GROUP_CONCAT(n ORDER BY n) FROM shop.t") == (("1,2,3,4,5,6",),)
    (warning,) = [one["text"] for one in info["warnings"] if one["kind"] == "unbound"]
    assert "2 executions of prepared statements with unknown values" in warning, said
    assert f"partial tape: {warning}" in said
    assert "the parameter types of 1 execution were sent before the capture" in said
    flags = query(
        f"SELECT flags FROM '{tmp_path}/pool.tape/events/*.parquet' WHERE command = 'execute' ORDER BY start_ns, seq"
    )
    assert [bool(flag & FLAGS["unbound"]) for (flag,) in flags] == [True, True, False, False, False]


@pytest.mark.sampled
def test_forged_session_state_causes_no_writes(any_shop: Server, tmp_path: Path) -> None:
    """A replay of reads checks the session state on a tape like any other statement. Forged session state cannot allow
    writes.
    """
    forged = [
        ("query", "SET SESSION TRANSACTION READ WRITE", "session", None),
        ("query", "SET sql_log_bin = 0", "session", None),
        ("query", "SET @a = 1; DELETE FROM log", "session", None),
        ("query", "INSERT INTO log (seq) VALUES (2)", "session", None),
        ("prepare", "INSERT INTO log (seq) VALUES (3)", "read", 1),
        ("execute", "INSERT INTO log (seq) VALUES (3)", "read", 1),
        ("query", "SET @a = 1", "session", None),
    ]
    any_shop.execute("CREATE TABLE IF NOT EXISTS shop.log (id INT AUTO_INCREMENT PRIMARY KEY, seq INT)")
    any_shop.execute("INSERT INTO shop.log (seq) VALUES (1)")
    before = any_shop.execute("SELECT COUNT(*) FROM shop.log")
    events = [
        {"command": command, "statement": text, "class": class_, "flags": FLAGS["carried"], "db": "shop"}
        | ({} if number is None else {"stmt": number, "params": b"E\0\0\1\0\0\0" if command == "execute" else None})
        for command, text, class_, number in forged
    ]
    tape = make_tape(tmp_path / "t.tape", events, carried=len(events))
    # The tape contains only session state, so the run ends immediately.
    run = replay(tape, options(any_shop, tmp_path / "t.run", allow_writes=False, target_is_disposable=False))
    assert any_shop.execute("SELECT COUNT(*) FROM shop.log") == before
    assert run.info["state"]["restored"] == 1
    assert sum(run.info["state"]["not_sent"].values()) == len(forged) - 1
