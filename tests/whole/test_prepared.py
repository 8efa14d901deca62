# SPDX-License-Identifier: Apache-2.0
"""Prepared statements from a tape of packets. The general log of the target shows the original commands and values."""

import dataclasses
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.literals import define_texts
from querytape.common.duck import open_database
from querytape.replay import parse_target, replay
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.relay import Relay
from tests.helpers.tapes import flag_bits, make_tape
from tests.helpers.whole import accounting, options, query

from ..conftest import skip_loudly

SCHEMA = """
CREATE TABLE types (id INT AUTO_INCREMENT PRIMARY KEY, t TINYINT, ut TINYINT UNSIGNED, s SMALLINT, y YEAR, i INT,
    ui INT UNSIGNED, b BIGINT, ub BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(40, 10), c VARCHAR(80), bl BLOB, da DATE,
    ti TIME(6), dt DATETIME(6));
CREATE TABLE blobs (n INT PRIMARY KEY, b LONGBLOB);
CREATE TABLE numbers (id INT AUTO_INCREMENT PRIMARY KEY, n INT);
INSERT INTO numbers (n) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10);
CREATE TABLE loaded (a INT, b VARCHAR(80));
CREATE PROCEDURE two(x INT) BEGIN SELECT n FROM numbers WHERE n < x; SELECT x + 1 AS y; INSERT INTO numbers (n) VALUES (x); END;
"""
FILE = b"1,one\n2,two with 'quotes'\n3,\xc3\xa9\n"


@pytest.fixture
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Compile the C client."""
    return compiled(request, tmp_path)


def compiled(request: pytest.FixtureRequest, folder: Path) -> Path:
    """Compile the C client. Skip the test if there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        skip_loudly(request, "no C compiler: prepared statements of a real client are not tested")
    flags: list[str] = []
    for config in (["mariadb_config", "--include", "--libs"], ["pkg-config", "--cflags", "--libs", "libmariadb"]):
        if not flags and shutil.which(config[0]):
            flags = subprocess.run(config, capture_output=True, text=True, check=True).stdout.split()
    program = folder / "prepared_client"
    source = Path(__file__).parents[1] / "helpers" / "prepared_client.c"
    subprocess.run([str(compiler), "-Wall", "-Werror", str(source), *flags, "-o", str(program)], check=True)
    return program


def fresh_schema(server: Server) -> None:
    """Create the schema in its state before the run of the client."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            server.execute(statement, db="shop")


def contents(server: Server) -> list[Any]:
    return [server.execute(f"SELECT * FROM shop.{t} ORDER BY 1") for t in ("types", "blobs", "numbers", "loaded")]


def logged(server: Server) -> list[tuple[str, bytes]]:
    """Return the client's commands in the general log, without the commands of the replay itself. Empty the log."""
    rows = server.execute(
        "SELECT thread_id, command_type, CAST(argument AS BINARY) FROM mysql.general_log"
        " WHERE user_host LIKE 'preparer[preparer]%' ORDER BY event_time"
    )
    server.execute("TRUNCATE TABLE mysql.general_log")
    (own,) = {thread for thread, kind, _ in rows if kind == "Prepare"}  # the replay's own connections prepare nothing
    mine = [(kind, bytes(text)) for thread, kind, text in rows if thread == own]
    return [row for row in mine if row[0] not in ("Connect", "Init DB") and not row[1].startswith(b"SET NAMES utf8mb4")]


def record(server: Server, client: Path, tmp_path: Path, mariadb: bool) -> Path:
    """Run the client through a relay, and return the tape."""
    (tmp_path / "rows.csv").write_bytes(FILE)
    with Relay(server.port) as relay:
        command = [str(client), "127.0.0.1", str(relay.port), "preparer", "pw", "shop", str(tmp_path / "rows.csv")]
        subprocess.run([*command, *(["mariadb"] if mariadb else [])], check=True, timeout=60)
    (tmp_path / "rows.csv").unlink()  # the replay must load the copy on the tape
    return relay.capture(tmp_path / "prepared.tape")


@pytest.fixture
def recorder(server: Server) -> Any:
    """Provide each kind of server in turn. The server logs to a table and has its own user."""
    was = server.execute("SELECT @@log_output, @@general_log, @@local_infile")[0]
    server.execute("CREATE USER preparer IDENTIFIED BY 'pw'")
    server.execute("GRANT ALL ON *.* TO preparer")
    server.execute("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON, GLOBAL local_infile = ON")
    yield server
    server.execute(f"SET GLOBAL log_output = '{was[0]}', GLOBAL general_log = {was[1]}, GLOBAL local_infile = {was[2]}")
    server.execute("DROP USER preparer")
    server.execute("DROP DATABASE IF EXISTS shop")


@pytest.mark.sampled
def test_general_log_of_the_target_equals_the_original_log(recorder: Server, client: Path, tmp_path: Path) -> None:
    """The commands, values and table rows are equal. Every event of the tape except the connect is executed."""
    is_mariadb = "MariaDB" in recorder.execute("SELECT VERSION()")[0][0]
    fresh_schema(recorder)
    tape = record(recorder, client, tmp_path, mariadb=is_mariadb)
    original, want = logged(recorder), contents(recorder)
    fresh_schema(recorder)
    target = parse_target(f"mysql://preparer@127.0.0.1:{recorder.port}/shop", environ={"QUERYTAPE_PASSWORD": "pw"})
    given = options(recorder, tmp_path / "p.run", allow_statements=frozenset({"load_data"}), verify=True)
    summary = replay(tape, dataclasses.replace(given, target=target))
    executed, filtered, skipped, not_sent = accounting(summary)
    assert (filtered, skipped, not_sent) == (0, 1, 0), summary.info["accounting"]["reasons"]  # the connect is skipped
    assert summary.errors == {1062: 1, 1146: 1}
    assert logged(recorder) == original
    assert contents(recorder) == want
    assert {kind for kind, _ in original} >= {"Prepare", "Execute", "Close stmt", "Reset stmt", "Long Data"}
    rows = query(
        f"SELECT e.command, coalesce(e.rows_sent, 0), o.rows_sent FROM '{tape}/events/*.parquet' e"
        f" JOIN '{summary.path}/outcomes/*.parquet' o USING (session, seq) WHERE o.status = 'executed'"
    )
    assert len(rows) == executed
    assert [row for row in rows if row[1] != row[2]] == []
    assert sum(row[1] for row in rows if row[0] == "fetch") == 18
    sums = query(
        f"SELECT e.command, e.checksum, o.checksum FROM '{tape}/events/*.parquet' e"
        f" JOIN '{summary.path}/outcomes/*.parquet' o USING (session, seq) WHERE e.checksum IS NOT NULL"
    )
    assert {row[1].split(":")[0] for row in sums} == {"text", "binary"}
    assert [row for row in sums if row[1] != row[2]] == []


@pytest.mark.sampled
def test_bound_values_as_literals_give_the_same_rows(recorder: Server, client: Path, tmp_path: Path) -> None:
    """Each execution is sent as text, with literals in place of the parameters."""
    fresh_schema(recorder)
    tape = record(recorder, client, tmp_path, mariadb=False)
    want = contents(recorder)[:2]
    with open_database() as con:
        con.execute(f"CREATE VIEW tape_events AS FROM {open_folder('tape', tape).source('events')}")
        define_texts(con)
        texts = con.execute(
            "SELECT text FROM event_texts WHERE command IN ('query', 'execute') AND class = 'write' AND errno = 0"
            " AND regexp_matches(text, 'types|blobs') ORDER BY session, seq"
        ).fetchall()
    assert len(texts) > 5
    assert not [text for (text,) in texts if text.startswith("/*")]
    fresh_schema(recorder)
    for (text,) in texts:
        recorder.execute(text, db="shop")
    assert contents(recorder)[:2] == want


@pytest.mark.sampled
def test_local_files_of_the_replay_host_are_never_sent(recorder: Server, tmp_path: Path) -> None:
    """If the tape lacks the file of a LOAD DATA LOCAL, the statement fails. The session continues."""
    fresh_schema(recorder)
    secret = tmp_path / "secret.csv"
    secret.write_bytes(FILE)
    events = [
        {
            "statement": f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE loaded FIELDS TERMINATED BY ','",
            "class": "write",
            "db": "shop",
            "flags": flag_bits(danger="load_data"),
        },
        {"statement": "SELECT COUNT(*) FROM loaded", "db": "shop"},
    ]
    tape = make_tape(tmp_path / "l.tape", events)
    summary = replay(tape, options(recorder, tmp_path / "l.run", allow_statements=frozenset({"load_data"})))
    assert accounting(summary) == (2, 0, 0, 0)
    assert summary.errors == {2: 1}
    assert "the tape does not contain the file" in query(f"SELECT error FROM '{summary.path}/outcomes/*.parquet'")[0][0]
    assert recorder.execute("SELECT COUNT(*) FROM shop.loaded") == ((0,),)
