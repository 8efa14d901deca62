# SPDX-License-Identifier: Apache-2.0
"""Tests that a cut or filtered tape is replayed like the same selection of the whole tape. Both replays must send the
same commands.
"""

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.capture.tools.derive import derive
from querytape.replay import replay
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.selection import Selection
from querytape.schemas import EventFilter, open_folder
from querytape.servers.sandbox import Server

from tests.helpers.binary_client import Prepared
from tests.helpers.relay import Relay
from tests.helpers.tape_tools import damages, found
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options, query

SCHEMA = (
    "DROP DATABASE IF EXISTS shop",
    "DROP DATABASE IF EXISTS other",
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE DATABASE other CHARACTER SET utf8mb4",
    "CREATE TABLE shop.t (id INT PRIMARY KEY, n INT, b LONGBLOB) ENGINE = InnoDB",
    "CREATE TABLE other.t (id INT PRIMARY KEY, n INT, b LONGBLOB) ENGINE = InnoDB",
    "INSERT INTO shop.t (id, n) VALUES (1, 1), (2, 2), (3, 3)",
    "INSERT INTO other.t (id, n) VALUES (1, 10), (2, 20)",
)
STEP_S = 0.05


class Script:
    """Three clients that run the same steps one after another. `marks` has the times between the steps, in nanoseconds
    of the local clock.
    """

    def __init__(self, port: int) -> None:
        self.marks: list[int] = []
        self._port = port

    def client(self, user: str, db: str) -> Any:
        given: dict[str, Any] = {"password": "pw", "database": db, "autocommit": True, "ssl_disabled": True}
        return pymysql.connect(host="127.0.0.1", port=self._port, user=user, **given)

    def mark(self) -> None:
        time.sleep(STEP_S)
        self.marks.append(time.time_ns())
        time.sleep(STEP_S)

    def run(self) -> None:
        """Run the steps. Early steps set session state that later steps use."""
        one, two = self.client("one", "shop"), self.client("two", "other")
        say, tell = one.cursor().execute, two.cursor().execute
        reads = Prepared(one, "SELECT n FROM t WHERE id = ?")
        writes = Prepared(one, "UPDATE t SET b = ? WHERE id = ?")
        say("SET @discount = 7")
        say("SET SESSION sql_mode = 'ANSI_QUOTES'")
        reads.execute(1)
        one.ping(reconnect=False)
        tell("CREATE TEMPORARY TABLE kept (x INT)")
        tell("PREPARE named FROM 'SELECT n + ? FROM t WHERE id = 1'")
        writes.send_long(0, b"first")
        self.mark()
        writes.execute("long", 1)
        reads.execute(2)
        say('SELECT "n", @discount FROM t')
        tell("BEGIN")
        tell("UPDATE t SET n = n + 1 WHERE id = 1")
        self.mark()
        tell("UPDATE t SET n = n + 1 WHERE id = 2")
        tell("COMMIT")
        tell("SET @x = 3")
        tell("EXECUTE named USING @x")
        tell("INSERT INTO kept VALUES (1)")
        tell("USE shop")
        reads.execute(3)
        self.mark()
        three = self.client("two", "shop")
        Prepared(three, "SELECT count(*) FROM t").execute()
        tell("SELECT n FROM t WHERE id = 3")
        tell("SELECT x FROM other.kept")
        reads.execute(1)
        reads.close()
        writes.send_long(0, b"second")
        writes.execute("long", 2)
        self.mark()
        say("SELECT @discount")
        tell("EXECUTE named USING @x")
        for client in (one, two, three):
            client.close()


def fresh_schema(server: Server) -> None:
    """Create the schemas in the state before the script."""
    for statement in SCHEMA:
        server.execute(statement)


@pytest.fixture
def target(server: Server) -> Any:
    """Provide each kind of server in turn. The server logs to a table and has the users of the script."""
    was = server.execute("SELECT @@log_output, @@general_log")[0]
    for user in ("one", "two"):
        server.execute(f"CREATE USER {user} IDENTIFIED BY 'pw'")
        server.execute(f"GRANT ALL ON *.* TO {user}")
    fresh_schema(server)
    server.execute("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON")
    yield server
    server.execute(f"SET GLOBAL log_output = '{was[0]}', GLOBAL general_log = {was[1]}")
    for statement in ("DROP USER one, two", "DROP DATABASE shop", "DROP DATABASE other"):
        server.execute(statement)


def recorded(server: Server, tmp_path: Path, name: str) -> tuple[Path, list[int]]:
    """Run the script through a relay. Return the tape and the times between the steps."""
    with Relay(server.port) as relay:
        script = Script(relay.port)
        script.run()
    return relay.capture(tmp_path / f"{name}.tape"), script.marks


def sent(server: Server, tape: Path, run: Path, **selection: Any) -> list[list[tuple[str, bytes]]]:
    """Replay a tape. Return the target's log of each session that sent commands. The sessions are ordered by their
    texts. The result omits the commands with which the replayer opens a session and sets its schema and charset.
    """
    fresh_schema(server)
    server.execute("TRUNCATE TABLE mysql.general_log")
    given = options(server, run, selection=Selection(**selection), partial_ok=True, pace=Pace("none"))
    summary = replay(tape, given)
    accounting(summary)
    assert summary.errors == {}, summary.errors
    rows = server.execute(
        "SELECT thread_id, command_type, CAST(argument AS BINARY) FROM mysql.general_log ORDER BY event_time, thread_id"
    )
    replayed = {row[0] for row in query(f"SELECT thread_id FROM {open_folder('run', run).source('sessions')}")}
    logs = defaultdict(list)
    for thread, kind, text in rows:
        if thread in replayed and kind not in ("Connect", "Init DB", "Quit") and b"SET NAMES" not in text:
            logs[thread].append((str(kind), bytes(text)))
    return sorted(logs.values())


@pytest.mark.long
@pytest.mark.parametrize("server", mostly_long(["mariadb", "mysql80"], "mysql80"), indirect=True)
@pytest.mark.parametrize(
    "what", ["after step 0", "from step 1 to step 3", "after step 3", "one schema", "reads", "one digest of a session"]
)
def test_cut_tape_sends_the_same_commands_as_a_selection(what: str, target: Server, tmp_path: Path) -> None:
    """The selection is a time range that begins and ends between two steps, or a filter. No command fails."""
    tape, marks = recorded(target, tmp_path, "script")
    session = found(tape, "SELECT min(session) FROM events WHERE \"user\" = 'one'")[0][0]
    updates = "SELECT digest FROM events WHERE command = 'execute' AND statement::VARCHAR LIKE 'UPDATE%'"
    choices: dict[str, dict[str, Any]] = {
        "after step 0": {"from_ns": marks[0]},
        "from step 1 to step 3": {"from_ns": marks[1], "to_ns": marks[3]},
        "after step 3": {"from_ns": marks[3]},
        "one schema": {"dbs": ("shop",)},
        "reads": {"classes": ("read",), "users": ("two",)},
        "one digest of a session": {"digests": (found(tape, updates)[0][0],), "sessions": (session,)},
    }
    choice = choices[what]
    part = tmp_path / "part.tape"
    info = derive([tape], part, EventFilter(**choice))
    assert damages(part, tmp_path) == []
    assert info["carried"] == found(part, "SELECT count(*) FROM events WHERE flags & 8192 <> 0")[0][0]
    assert (info["carried"] > 0) == ("from_ns" in choice)
    want = sent(target, tape, tmp_path / "whole.run", **choice)
    assert want
    assert sent(target, part, tmp_path / "part.run") == want


@pytest.mark.long
@pytest.mark.parametrize("server", mostly_long(["mariadb", "mysql80"], "mysql80"), indirect=True)
def test_merged_tapes_keep_the_session_state_of_both_tapes(target: Server, tmp_path: Path) -> None:
    """Two tapes are cut first and then merged."""
    tape, marks = recorded(target, tmp_path, "a")
    parts = [tmp_path / "early.tape", tmp_path / "late.tape"]
    carried = 0
    for part, choice in zip(parts, (EventFilter(to_ns=marks[1]), EventFilter(from_ns=marks[2])), strict=True):
        carried += derive([tape], part, choice)["carried"]
    info = derive(parts, tmp_path / "both.tape", EventFilter())
    assert info["carried"] == carried > 0
    want = [log for part in parts for log in sent(target, part, tmp_path / f"{part.stem}.run")]
    assert sent(target, tmp_path / "both.tape", tmp_path / "both.run") == sorted(want)
