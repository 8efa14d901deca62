# SPDX-License-Identifier: Apache-2.0
"""`--insert-id original`: each INSERT of one command gets the id that it had; a source that knows none says so."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
from querytape.cli.commands.replay import exit_code, summary_lines
from querytape.replay import replay
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.relay import Relay
from tests.helpers.tape_tools import found
from tests.helpers.tapes import make_tape
from tests.helpers.whole import accounting, options

SCHEMA = (
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.a (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(80)) AUTO_INCREMENT = {first}",
    "CREATE TABLE shop.b (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(80)) AUTO_INCREMENT = {first}",
    "CREATE TABLE shop.plain (t VARCHAR(80), n BIGINT)",
    "CREATE PROCEDURE shop.two() BEGIN INSERT INTO a (t) VALUES ('called'); SELECT 1; END",
)
TEXTS = (
    "INSERT INTO a (t) VALUES ('x; insert into a'); INSERT INTO b (t) VALUES ('it\\'s; one'), ('two'); SELECT LAST_INSERT_ID()",
    "insert into a (t) values (\"q;\"); UPDATE a SET t = 'u' WHERE id = 1; /* c; */ REPLACE INTO b (t) VALUES ('r') ; ",
    "INSERT INTO plain VALUES ('no id', LAST_INSERT_ID()); INSERT INTO a (t) VALUES ('k')",
    "BEGIN; INSERT INTO b (t) VALUES ('1'); INSERT INTO b (t) VALUES ('2'); COMMIT",
    "INSERT INTO a (t) VALUES ('before'); INSERT INTO missing (t) VALUES (1); INSERT INTO a (t) VALUES ('never')",
    "INSERT INTO a (t) VALUES ('alone')",
)


def fresh_schema(server: Server, first: int) -> None:
    """Make the schema; ids are generated from `first` on."""
    for statement in SCHEMA:
        server.execute(statement.format(first=first), db=None if "DATABASE" in statement else "shop")


def contents(server: Server) -> list[Any]:
    return [server.execute(f"SELECT * FROM shop.{table} ORDER BY 1, 2") for table in ("a", "b", "plain")]


def run_texts(port: int, texts: tuple[str, ...]) -> None:
    """Send each text as one command, and read all its results."""
    given: dict[str, Any] = {"user": "root", "database": "shop", "autocommit": True, "ssl_disabled": True}
    con: Any = pymysql.connect(host="127.0.0.1", port=port, client_flag=CLIENT.MULTI_STATEMENTS, **given)
    for text in texts:
        with suppress(pymysql.err.ProgrammingError):  # of the table that is missing
            con.query(text)
            while con._result.has_next:
                con.next_result()
    con.close()


def recorded(server: Server, tmp_path: Path, texts: tuple[str, ...]) -> Path:
    """Run the texts through a relay; return the tape."""
    with Relay(server.port) as relay:
        run_texts(relay.port, texts)
    return relay.capture(tmp_path / "ids.tape")


@pytest.mark.sampled
def test_each_statement_of_a_command_has_its_id(server: Server, tmp_path: Path) -> None:
    """The target would generate other ids: with the original's, all rows are equal, and so is what asks for them."""
    fresh_schema(server, 1)
    tape = recorded(server, tmp_path, TEXTS)
    want = contents(server)
    assert [len(rows) for rows in want] == [5, 5, 1]
    fresh_schema(server, 5000)
    summary = replay(tape, options(server, tmp_path / "ids.run", overrides=Overrides(ids=True), verify=True))
    accounting(summary)
    assert contents(server) == want
    assert summary.info["plan"]["ids_unknown"] == 1  # of several rows: the tape does not know the steps between ids
    assert summary.info["accounting"]["overrides_failed"] == 0
    sums = found(tape, f"SELECT e.checksum, o.checksum FROM events e JOIN '{summary.path}/outcomes/*.parquet' o"
                 " USING (session, seq) WHERE e.checksum IS NOT NULL")  # fmt: skip
    assert [row for row in sums if row[0] != row[1]] == []


NAMED = (
    "PREPARE s FROM 'INSERT INTO b (t) VALUES (?)'",
    "SET @x = 'bound'",
    "EXECUTE s USING @x",
    "INSERT INTO plain VALUES ('after', LAST_INSERT_ID())",
    "PREPARE `S` FROM ' replace into a (t) values (concat(?, \"-\"))'; SELECT 1",
    "execute S USING @x",
    "PREPARE s FROM 'UPDATE b SET t = CONCAT(t, LAST_INSERT_ID(700)) WHERE id = 1'",
    "EXECUTE s",
    "INSERT INTO b (t) VALUES ('not 700')",
    "INSERT INTO a (t) VALUES ('1'); INSERT INTO b (t) VALUES ('2'); -- a comment is answered, too",
    "INSERT INTO a (t) VALUES ('1'); INSERT INTO b (t) VALUES ('2') /* traced */",
    "/*! INSERT INTO a (t) VALUES ('conditional') */",
)
NAMED_BY_MARIADB = (
    "EXECUTE IMMEDIATE 'INSERT INTO b (t) VALUES (?)' USING 'at once'",
    "SET STATEMENT max_statement_time = 10 FOR INSERT INTO a (t) VALUES ('f')",
    "UPDATE a SET t = 'g' WHERE id = 1; SET STATEMENT max_statement_time = 10 FOR INSERT INTO a (t) VALUES ('g')",
)


@pytest.mark.sampled
def test_inserts_that_do_not_begin_with_the_word(server: Server, tmp_path: Path) -> None:
    """EXECUTE of an INSERT that was prepared as text, SET STATEMENT ... FOR INSERT: their ids are the original's, too."""
    fresh_schema(server, 1)
    texts = NAMED + (NAMED_BY_MARIADB if server.kind == "mariadb" else ())
    tape = recorded(server, tmp_path, texts)
    want = contents(server)
    fresh_schema(server, 5000)
    summary = replay(tape, options(server, tmp_path / "ids.run", overrides=Overrides(ids=True)))
    assert contents(server) == want
    assert summary.info["plan"]["ids_unknown"] == 0
    assert summary.info["accounting"]["overrides_failed"] == 0


@pytest.mark.long
def test_inserts_whose_answer_has_no_id_are_said(server: Server, tmp_path: Path) -> None:
    """What was prepared from a variable may be anything; RETURNING answers with rows: both are counted."""
    texts = ("SET @q = 'INSERT INTO a (t) VALUES (1)'", "PREPARE s FROM @q", "EXECUTE s")
    for name, text in (("v", texts), ("r", ("INSERT INTO a (t) VALUES ('x') RETURNING t",))):
        if name == "r" and server.kind != "mariadb":
            continue
        fresh_schema(server, 1)
        (tmp_path / name).mkdir()
        code, said = replayed(server, recorded(server, tmp_path / name, text), tmp_path / f"{name}.run")
        assert (code, "lacks the ids of 1 INSERT:" in said) == (4, True), said


@pytest.mark.sampled
def test_a_clock_that_the_session_set_itself_is_left_alone(server: Server, tmp_path: Path) -> None:
    """`--now original` does not set it again behind SET timestamp, and does again once the session gave it back."""
    fresh_schema(server, 1)
    server.execute("CREATE TABLE shop.at (id INT PRIMARY KEY, seen DATETIME, made TIMESTAMP DEFAULT CURRENT_TIMESTAMP)")
    texts = [f"INSERT INTO at (id, seen) VALUES ({n}, NOW())" for n in range(8)]
    texts[1:1] = ["SET timestamp = 1700000000.5"]
    texts[4:4] = ["SET sql_mode = '', timestamp = DEFAULT, @a = 1"]
    texts[6:6] = ["SET @@session.timestamp := 1600000000; SELECT NOW()"]
    texts[8:8] = ["SET timestamp = 0"]
    tape = recorded(server, tmp_path, tuple(texts))
    want = server.execute("SELECT * FROM shop.at ORDER BY id")
    assert {row[1].year for row in want} >= {2020, 2023}
    server.execute("TRUNCATE shop.at")
    replay(tape, options(server, tmp_path / "now.run", overrides=Overrides(clock=True)))
    assert server.execute("SELECT * FROM shop.at ORDER BY id") == want


@pytest.mark.sampled
def test_ids_follow_the_sessions_sql_mode(server: Server, tmp_path: Path) -> None:
    """Where a backslash is a character, and "..." a name, the INSERTs of a text are those that the server saw."""
    texts = (
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'",
        "INSERT INTO a (t) VALUES ('\\'); INSERT INTO b (t) VALUES ('; INSERT INTO b '), ('\\')",
        "INSERT INTO \"a\" (\"t\") VALUES ('x\"'); UPDATE a SET t = '\\' WHERE id = 1; INSERT INTO b (t) VALUES ('\"')",
    )
    fresh_schema(server, 1)
    tape = recorded(server, tmp_path, texts)
    want = contents(server)
    assert [len(rows) for rows in want] == [2, 3, 0]
    fresh_schema(server, 5000)
    summary = replay(tape, options(server, tmp_path / "ids.run", overrides=Overrides(ids=True)))
    assert contents(server) == want
    assert summary.info["plan"]["ids_unknown"] == 1  # of several rows: the tape does not know the steps between ids


@pytest.mark.long
def test_what_cannot_be_told_is_said(server: Server, tmp_path: Path) -> None:
    """A CALL answers several times: whose the id is nobody knows. It stands in the first lines, and in the exit code."""
    fresh_schema(server, 1)
    tape = recorded(server, tmp_path, ("INSERT INTO a (t) VALUES ('x'); CALL two()",))
    assert found(tape, "SELECT insert_ids FROM events WHERE class = 'write'") == [("",)]
    code, text = replayed(server, tape, tmp_path / "c.run")
    assert code == 4
    assert "lacks the ids of 1 INSERT:" in "".join(text.splitlines(keepends=True)[:3])


@pytest.mark.long
def test_a_source_without_ids_says_so(server: Server, tmp_path: Path) -> None:
    """INSERTs of a log count where the target generates ids for them, and only then."""
    fresh_schema(server, 1)
    event = {"class": "write", "db": "shop"}
    for name, statement, code in (
        ("a", "INSERT INTO a (t) VALUES ('x')", 4),
        ("p", "INSERT INTO plain VALUES ('x', 1)", 0),
    ):
        tape = make_tape(tmp_path / f"{name}.tape", [{**event, "statement": statement}])
        ended, text = replayed(server, tape, tmp_path / f"{name}.run")
        assert (ended, "lacks the ids of 1 INSERT:" in text) == (code, code == 4), text


def replayed(server: Server, tape: Path, run: Path) -> tuple[int, str]:
    """Replay; return the command's exit code and what its summary says."""
    summary = replay(tape, options(server, run, overrides=Overrides(ids=True), pace=Pace("none")))
    return exit_code(summary), "\n".join(summary_lines(summary))
