# SPDX-License-Identifier: Apache-2.0
"""A second replay that sends only failed and slower statements. The target's general log shows only their transactions
and session state.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.replay import replay
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.selection import Selection
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape
from tests.helpers.whole import accounting, options, query

SCHEMA = (
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.t (id INT PRIMARY KEY, n INT)",
    "INSERT INTO shop.t VALUES (1, 1), (2, 2), (3, 3)",
)
SLOW = "5" * 16
TX, SET, WRITE = {"class": "transaction"}, {"class": "session"}, {"class": "write"}
EVENTS = [
    {"session": 1, "statement": "SET @step = 2", **SET},
    {"session": 1, "statement": "SELECT n FROM t WHERE id = 1"},
    {"session": 1, "statement": "BEGIN", **TX},
    {"session": 1, "statement": "UPDATE t SET n = n + @step WHERE id = 1", **WRITE},
    {"session": 1, "statement": "INSERT INTO orders VALUES (1)", **WRITE},  # fails because its table is missing
    {"session": 1, "statement": "COMMIT", **TX},
    {"session": 1, "statement": "SET @late = 1", **SET},
    {"session": 1, "statement": "BEGIN", **TX},
    {"session": 1, "statement": "UPDATE t SET n = 0 WHERE id = 3", **WRITE},
    {"session": 1, "statement": "COMMIT", **TX},
    {"session": 2, "statement": "SET @other = 1", **SET},
    {"session": 2, "statement": "BEGIN", **TX},
    {"session": 2, "statement": "SELECT n FROM t WHERE id = 2"},
    {"session": 2, "statement": "COMMIT", **TX},
    {"session": 3, "statement": "SELECT n FROM t WHERE id = 3", "digest": SLOW},
    {"session": 3, "statement": "SELECT count(*) FROM orders"},  # fails outside a transaction
]


@pytest.fixture
def target(server: Server) -> Iterator[Server]:
    """Provide each kind of server in turn. The server logs to a table."""
    was = server.execute("SELECT @@log_output, @@general_log")[0]
    server.execute("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON")
    yield server
    server.execute(f"SET GLOBAL log_output = '{was[0]}', GLOBAL general_log = {was[1]}")
    server.execute("DROP DATABASE shop")


def logged(server: Server, run: Path) -> list[list[str]]:
    """Return the target's logged statements for each connection of a run, without the replayer's own statements."""
    rows = server.execute(
        "SELECT thread_id, CAST(argument AS CHAR) FROM mysql.general_log WHERE command_type = 'Query' ORDER BY event_time"
    )
    mine = {row[0] for row in query(f"SELECT thread_id FROM {open_folder('run', run).source('sessions')}")}
    found = defaultdict(list)
    for thread, text in rows:
        if thread in mine and not text.startswith("SET NAMES"):
            found[thread].append(text)
    return sorted(found.values())


@pytest.mark.long
def test_second_replay_sends_only_failed_and_slower_statements(target: Server, tmp_path: Path) -> None:
    """A transaction with a failed statement is sent completely, with its session state. All other events are counted as
    filtered.
    """
    for statement in SCHEMA:
        target.execute(statement)
    tape = make_tape(tmp_path / "t.tape", [{**event, "db": "shop"} for event in EVENTS])
    first = replay(tape, options(target, tmp_path / "first.run", pace=Pace("none")))
    assert first.errors == {1146: 2}
    target.execute("CREATE TABLE shop.orders (id INT PRIMARY KEY)")
    target.execute("UPDATE shop.t SET n = 1 WHERE id = 1")
    target.execute("TRUNCATE TABLE mysql.general_log")
    again = Selection(failed_in=first.path)
    second = replay(tape, options(target, tmp_path / "second.run", pace=Pace("none"), selection=again))
    failed_tx = [str(EVENTS[number]["statement"]) for number in (0, 2, 3, 4, 5)]
    assert logged(target, second.path) == sorted([failed_tx, ["SELECT count(*) FROM orders"]])
    assert second.errors == {}
    assert accounting(second) == (6, len(EVENTS) - 6, 0, 0)
    assert second.info["accounting"]["reasons"] == {"filtered": {"filter:failed_in": len(EVENTS) - 6}}
    assert target.execute("SELECT n FROM shop.t ORDER BY id") == ((3,), (2,), (0,))
    report = tmp_path / "report.json"
    rows = [{"digest": SLOW, "verdict": "slower"}]
    report.write_text(json.dumps({"tape": {"path": str(tape), "events": len(EVENTS)}, "digests": rows}))
    target.execute("TRUNCATE TABLE mysql.general_log")
    third = replay(
        tape, options(target, tmp_path / "third.run", pace=Pace("none"), selection=Selection(slower_in=report))
    )
    assert logged(target, third.path) == [["SELECT n FROM t WHERE id = 3"]]
    assert third.info["accounting"]["reasons"] == {"filtered": {"filter:slower_in": len(EVENTS) - 1}}
