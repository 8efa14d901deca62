# SPDX-License-Identifier: Apache-2.0
"""`--insert-id original` if source and target have different auto-increment steps. The rows are equal, or the exit code
is 4.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
from querytape.cli.run_lines import exit_code
from querytape.replay import RunSummary, replay
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.relay import Relay
from tests.helpers.whole import options

TABLES = ("a", "log", "p", "plain")
SCHEMA = (
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.a (id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, t VARCHAR(80)) AUTO_INCREMENT = {first}",
    "CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(80)) AUTO_INCREMENT = {first}",
    "CREATE TABLE shop.p (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(80)) AUTO_INCREMENT = {first}",
    "CREATE TABLE shop.plain (t VARCHAR(80))",
    "CREATE VIEW shop.v AS SELECT id, u, t FROM shop.a",
    "CREATE TRIGGER shop.logged AFTER INSERT ON shop.plain FOR EACH ROW INSERT INTO log (t) VALUES (NEW.t)",
    "CREATE TRIGGER shop.counted BEFORE UPDATE ON shop.p FOR EACH ROW SET NEW.t = REPLACE(NEW.t, 'a', 'b')",
    "CREATE PROCEDURE shop.note() INSERT INTO log (t) VALUES ('x'), ('y')",
)
# Statements that insert several rows or change rows.
WRITES = (
    "INSERT INTO a (u, t) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO a (u, t) SELECT u + 10, t FROM a ORDER BY id",
    "REPLACE INTO a (u, t) VALUES (2, 'x'), (7, 'y'), (3, 'z')",
    "INSERT IGNORE INTO a (u, t) VALUES (2, 'x'), (8, 'y'), (2, 'z'), (9, 'q')",
    "INSERT INTO a (u, t) VALUES (2, '1'), (21, '2'), (3, '3'), (22, '4') ON DUPLICATE KEY UPDATE t = VALUES(t)",
    "INSERT INTO a (u, t) VALUES (23, '5'), (24, '6') ON DUPLICATE KEY UPDATE t = VALUES(t)",
    "INSERT INTO a (u, t) VALUES (2, '7'), (3, '8') ON DUPLICATE KEY UPDATE t = VALUES(t)",
    "INSERT INTO a (u, t) VALUES (2, '7'), (3, '9') ON DUPLICATE KEY UPDATE t = VALUES(t)",
    "INSERT INTO a (u, t) VALUES (7, 'one') ON DUPLICATE KEY UPDATE t = VALUES(t)",
    "INSERT INTO a (u, t) VALUES (8, 'm'), (9, 'n') ON DUPLICATE KEY UPDATE t = VALUES(t); INSERT INTO a (u) VALUES (31), (32)",
    "PREPARE s FROM 'INSERT INTO a (u, t) VALUES (?, 1), (?, 2) ON DUPLICATE KEY UPDATE t = CONCAT(t, VALUES(t))'",
    "SET @x = 41, @y = 42",
    "EXECUTE s USING @x, @y",
    "EXECUTE s USING @y, @x",
    "INSERT INTO a (id, u, t) VALUES (NULL, 51, 'a'), (9050, 52, 'b'), (NULL, 53, 'c')",
    "INSERT INTO v (u, t) VALUES (61, 'a'), (62, 'b')",
    "INSERT INTO p (t) VALUES ('a'), ('b')",
    "UPDATE p SET t = 'aa'",
    "SET auto_increment_increment = 7",
    "INSERT INTO a (u) VALUES (71), (72)",
)


def start(server: Server, first: int, steps: tuple[int, int]) -> None:
    """Create the schema on a server. `steps` is the auto-increment (increment, offset), and `first` is the first id."""
    for name, value in zip(("increment", "offset"), steps, strict=True):
        server.execute(f"SET GLOBAL auto_increment_{name} = {value}")
    for statement in SCHEMA:
        server.execute(statement.format(first=first), db=None if "DATABASE" in statement else "shop")


def rows(server: Server) -> list[Any]:
    return [server.execute(f"SELECT * FROM shop.{table} ORDER BY 1") for table in TABLES]


def recorded(server: Server, folder: Path, texts: Sequence[str], source: bool = True) -> Path:
    """Run the statements through a relay, and return the tape. If `source`, the capture reads the variables of the
    server.
    """
    folder.mkdir()
    with Relay(server.port) as relay:
        given: dict[str, Any] = {"user": "root", "database": "shop", "autocommit": True, "ssl_disabled": True}
        con: Any = pymysql.connect(host="127.0.0.1", port=relay.port, client_flag=CLIENT.MULTI_STATEMENTS, **given)
        for text in texts:
            con.query(text)
            while con._result.has_next:
                con.next_result()
        con.close()
    return relay.capture(folder / "t.tape", *(["--source", server.url()] if source else []))


def replayed(server: Server, tape: Path) -> RunSummary:
    """Replay a tape with --insert-id original."""
    given = options(
        server, tape.with_name("t.run"), overrides=Overrides(ids=True), pace=Pace("none"), query_plans=False
    )
    return replay(tape, given)


def ended(summary: RunSummary) -> tuple[int, int]:
    """Return the number of INSERTs with unknown ids and the exit code of a replay."""
    return summary.info["plan"]["ids_unknown"], exit_code(summary)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
def test_servers_with_different_id_steps_get_equal_rows(
    server_factory: ServerFactory, tmp_path: Path, kind: str
) -> None:
    """All kinds of multi-row writes are replayed, with each server as the source once."""
    source, target = server_factory(kind), server_factory(kind)
    for number, (there, here) in enumerate((((3, 2), (1, 1)), ((1, 1), (5, 4)))):
        start(source, 1, there)
        tape = recorded(source, tmp_path / str(number), WRITES)
        start(target, 5000, here)
        summary = replayed(target, tape)
        assert rows(target) == rows(source)
        assert (summary.errors, *ended(summary)) == ({}, 0, 0)

    # The default steps of target and source differ. SET ... = DEFAULT must restore the step of the source.
    start(source, 1, (1, 1))
    texts = ("SET auto_increment_increment = 7", "SET auto_increment_increment = DEFAULT", WRITES[0], "SELECT 1")
    assert ended(replayed(target, recorded(source, tmp_path / "default", texts))) == (1, 4)

    # The steps of the source are unknown. The INSERT of a single row needs no step.
    start(source, 1, (1, 1))
    texts = (WRITES[0], "INSERT INTO a (u) VALUES (5)", "REPLACE INTO a (u) VALUES (5)", WRITES[1])
    tape = recorded(source, tmp_path / "unknown", texts, source=False)
    start(target, 5000, (1, 1))
    assert ended(replayed(target, tape)) == (2, 4)

    # A trigger and a routine insert rows. The UPDATE activates no trigger.
    hidden = ("INSERT INTO plain VALUES ('a'), ('b')", "UPDATE plain SET t = 'c'", "CALL note()")
    assert ended(replayed(target, recorded(source, tmp_path / "hidden", hidden))) == (2, 4)
