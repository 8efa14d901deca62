# SPDX-License-Identifier: Apache-2.0
"""`--insert-id original`: each INSERT of a multi-statement gets its original id. A tape without ids is reported."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
from querytape.cli.run_lines import exit_code, summary_lines
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
    """Create the schema. `first` is the first generated id."""
    for statement in SCHEMA:
        server.execute(statement.format(first=first), db=None if "DATABASE" in statement else "shop")


def contents(server: Server) -> list[Any]:
    return [server.execute(f"SELECT * FROM shop.{table} ORDER BY 1, 2") for table in ("a", "b", "plain")]


def run_texts(port: int, texts: tuple[str, ...]) -> None:
    """Send each text as one command, and read all of its results."""
    given: dict[str, Any] = {"user": "root", "database": "shop", "autocommit": True, "ssl_disabled": True}
    con: Any = pymysql.connect(host="127.0.0.1", port=port, client_flag=CLIENT.MULTI_STATEMENTS, **given)
    for text in texts:
        with suppress(pymysql.err.ProgrammingError):  # one of the tables is missing on purpose
            con.query(text)
            while con._result.has_next:
                con.next_result()
    con.close()


def recorded(server: Server, tmp_path: Path, texts: tuple[str, ...]) -> Path:
    """Run the texts through a relay, and return the tape."""
    with Relay(server.port) as relay:
        run_texts(relay.port, texts)
    return relay.capture(tmp_path / "ids.tape")


@pytest.mark.sampled
def test_each_statement_of_a_multi_statement_gets_its_id(server: Server, tmp_path: Path) -> None:
    """Without --insert-id original, the target would generate different ids. All rows, and the results of later reads,
    are equal.
    """
    fresh_schema(server, 1)
    tape = recorded(server, tmp_path, TEXTS)
    want = contents(server)
    assert [len(rows) for rows in want] == [5, 5, 1]
    fresh_schema(server, 5000)
    summary = replay(tape, options(server, tmp_path / "ids.run", overrides=Overrides(ids=True), verify=True))
    accounting(summary)
    assert contents(server) == want
    assert summary.info["plan"]["ids_unknown"] == 1  # multi-row INSERT; the tape lacks the auto-increment step
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
def test_executed_and_wrapped_inserts_get_their_ids(server: Server, tmp_path: Path) -> None:
    """The statements are an EXECUTE of an INSERT that was prepared as text, and SET STATEMENT ... FOR INSERT."""
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
def test_inserts_whose_id_is_not_in_the_answer_are_counted(server: Server, tmp_path: Path) -> None:
    """If a statement was prepared from a variable, its text is unknown. The answer to INSERT ... RETURNING has rows
    instead of an id.
    """
    texts = ("SET @q = 'INSERT INTO a (t) VALUES (1)'", "PREPARE s FROM @q", "EXECUTE s")
    for name, text in (("v", texts), ("r", ("INSERT INTO a (t) VALUES ('x') RETURNING t",))):
        if name == "r" and server.kind != "mariadb":
            continue
        fresh_schema(server, 1)
        (tmp_path / name).mkdir()
        code, said = replayed(server, recorded(server, tmp_path / name, text), tmp_path / f"{name}.run")
        assert (code, "lacks the ids of 1 INSERT:" in said) == (4, True), said


@pytest.mark.sampled
def test_timestamp_set_by_the_session_is_kept(server: Server, tmp_path: Path) -> None:
    """If a session sets its timestamp, `--now original` does not change the timestamp. After the session restores the
    default, `--now original` sets the clock again.
    """
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
def test_sql_mode_decides_which_texts_are_inserts(server: Server, tmp_path: Path) -> None:
    """The sql_mode changes the meaning of backslashes and of double quotes. The replay must split a multi-statement in
    the same way as the server.
    """
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
    assert summary.info["plan"]["ids_unknown"] == 1  # multi-row INSERT; the tape lacks the auto-increment step


@pytest.mark.long
def test_unknown_insert_ids_of_a_call_are_reported(server: Server, tmp_path: Path) -> None:
    """A CALL gives several answers, so an id cannot be assigned to a statement. The first output lines and the exit
    code report this.
    """
    fresh_schema(server, 1)
    tape = recorded(server, tmp_path, ("INSERT INTO a (t) VALUES ('x'); CALL two()",))
    assert found(tape, "SELECT insert_ids FROM events WHERE class = 'write'") == [("",)]
    code, text = replayed(server, tape, tmp_path / "c.run")
    assert code == 4
    assert "lacks the ids of 1 INSERT:" in "".join(text.splitlines(keepends=True)[:3])


@pytest.mark.long
def test_missing_insert_ids_of_a_log_are_counted(server: Server, tmp_path: Path) -> None:
    """An INSERT from a log is counted only if the target generates an id for it."""
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
    """Replay a tape. Return the exit code of the command and its summary."""
    summary = replay(tape, options(server, run, overrides=Overrides(ids=True), pace=Pace("none")))
    return exit_code(summary), "\n".join(summary_lines(summary))
