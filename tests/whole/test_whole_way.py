# SPDX-License-Identifier: Apache-2.0
"""Capture, replay and report on real servers. Every stage counts 7 connections, 23 statements and 3 errors, between all
kinds of servers.
"""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pymysql
import pytest
from querytape.common.duck import sql_text
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.processes import run_command
from tests.helpers.tiers import mostly_long

CONNECTIONS, STATEMENTS, ERRORS = 7, 23, 3
STEP_S = 0.12
NASTY = b'it\'s \\ "so"\n;\n# Time: 240610  8:13:20\n# User@Host: x[x] @ y []\xe9\xff\x00\r\n-- end'
SCHEMA = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.carts (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
    "CREATE TABLE shop.bytes (id INT PRIMARY KEY, b VARBINARY(200)) ENGINE=InnoDB",
    "INSERT INTO shop.carts VALUES (1, 10), (2, 20), (3, 30)",
)
KINDS = ("mariadb", "mysql80")


def literal(value: bytes) -> bytes:
    """Return bytes as an SQL literal."""
    return b"_binary '" + value.replace(b"\\", b"\\\\").replace(b"'", b"\\'") + b"'"


def statements() -> list[tuple[int, bytes]]:
    """Return (connection, statement) pairs in the order of sending. Three of the statements fail."""
    fixed = {
        2: b"SELECT /* qt:%d */ * FROM nowhere",
        9: b"INSERT /* qt:%d */ INTO carts VALUES (1, 1)",
        16: b"SELECT /* qt:%d */ missing FROM carts",
        20: b"INSERT /* qt:%d */ INTO bytes VALUES (20, " + literal(NASTY).replace(b"%", b"%%") + b")",
        21: b"UPDATE /* qt:%d */ carts SET n = n + 1 WHERE id = 2",
    }
    return [
        (n % CONNECTIONS, fixed.get(n, b"SELECT /* qt:%d */ n FROM carts WHERE id = 1") % n) for n in range(STATEMENTS)
    ]


def prepare(server: Server) -> None:
    """Create the schema while the slow log is disabled."""
    server.execute("SET GLOBAL slow_query_log = OFF")
    for sql in SCHEMA:
        server.execute(sql)
    server.execute("SET GLOBAL slow_query_log = ON")


def drive(server: Server) -> tuple[dict[int, list[bytes]], dict[int, float]]:
    """Send the workload through seven connections. Return the statements of each connection, and the time of each
    statement.
    """
    plan: dict[int, list[tuple[int, bytes]]] = {c: [] for c in range(CONNECTIONS)}
    for n, (connection, sql) in enumerate(statements()):
        plan[connection].append((n, sql))
    begin = time.monotonic() + 0.5
    failed: list[int] = []
    moments: dict[int, float] = {}

    def client(mine: list[tuple[int, bytes]]) -> None:
        con: Any = server.connect("shop", autocommit=True)
        for n, sql in mine:
            time.sleep(max(0.0, begin + n * STEP_S - time.monotonic()))
            moments[n] = time.monotonic()
            try:
                con._execute_command(3, sql)
                con._read_query_result()
            except pymysql.Error as error:
                failed.append(error.args[0])
        con.close()

    threads = [threading.Thread(target=client, args=(mine,)) for mine in plan.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(failed) == [1054, 1062, 1146]
    return {c: [sql for _, sql in mine] for c, mine in plan.items()}, moments


def run(*arguments: Any, status: int = 0) -> str:
    """Run the command line, and return its output. The output must not contain a traceback."""
    done = run_command(*arguments, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def record(server: Server, tape: Path) -> tuple[dict[int, list[bytes]], dict[int, float]]:
    prepare(server)
    driven = drive(server)
    server.execute("SET GLOBAL slow_query_log = OFF")
    run("capture", "slowlog", server.slow_log, "-o", tape, "--strict")
    return driven


@pytest.mark.parametrize("target_kind", mostly_long(KINDS, "mysql80"))
@pytest.mark.parametrize("source_kind", mostly_long(KINDS, "mariadb"))
def test_counts_order_bytes_and_times_survive_capture_and_replay(
    server_factory: Callable[..., Server], tmp_path: Path, source_kind: str, target_kind: str
) -> None:
    """The tape, the replay and the report contain each statement that was sent. The number of connections and the order
    are the same.
    """
    config = {"slow_query_log": "ON", "long_query_time": "0", "loose-log-slow-extra": "ON"}
    source = server_factory(source_kind, config)
    tape, out = tmp_path / "shop.tape", tmp_path / "shop.run"
    sent, moments = record(source, tape)
    with duckdb.connect() as con:
        events = open_folder("tape", tape).source("events")
        rows = con.execute(
            f"SELECT session, list(statement ORDER BY seq) FROM {events}"
            " WHERE contains(statement::VARCHAR, 'qt:') GROUP BY session"
        ).fetchall()
    assert sorted(mine for _, mine in rows) == sorted(sent.values())

    target = server_factory(target_kind, {"general_log": "OFF", "log_output": "TABLE"})
    prepare(target)
    target.execute("SET GLOBAL general_log = ON")
    run(
        "replay", tape, "--target", target.url("shop"), "-o", out, "--allow-writes", "--target-is-disposable", "--drain", "5s", "--no-query-plans"
    )  # fmt: skip
    target.execute("SET GLOBAL general_log = OFF")
    check_target(target, source, sent)
    check_run(tape, out, moments, exact=source_kind == "mysql80")
    found = json.loads(run("report", tape, out, "--json", "-"))
    reads = sum(digest["a"]["n"] for digest in found["digests"] if "from carts where id = ?" in digest["text"])
    assert reads >= STATEMENTS - 5
    assert sum(row["events"] for row in found["error_counts"]) == ERRORS


def check_target(target: Server, source: Server, sent: dict[int, list[bytes]]) -> None:
    """Check that the target's log has the same statements on the same number of connections. The order in each
    connection must be equal.
    """
    rows = target.execute(
        "SELECT thread_id, CONVERT(argument USING latin1) FROM mysql.general_log"
        " WHERE command_type = 'Query' AND argument LIKE '%qt:%' AND argument NOT LIKE '%general_log%' ORDER BY event_time"
    )
    seen: dict[int, list[str]] = {}
    for thread, argument in rows:
        seen.setdefault(thread, []).append(str(argument).split("qt:")[1].split(" ")[0])
    wanted = [[sql.split(b"qt:")[1].split(b" ")[0].decode() for sql in mine] for mine in sent.values()]
    assert sorted(seen.values()) == sorted(wanted)
    for server in (source, target):
        assert server.execute("SELECT HEX(b) FROM shop.bytes") == ((NASTY.hex().upper(),),)
        assert server.execute("SELECT n FROM shop.carts WHERE id = 2") == ((21,),)


def check_run(tape: Path, out: Path, moments: dict[int, float], exact: bool) -> None:
    """Check that each statement was executed or failed as recorded, and was sent on the original schedule."""
    run_folder = open_folder("run", out)
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT o.status, o.errno, o.due_ns, o.sent_ns, o.free_ns,"
            " regexp_extract(e.statement::VARCHAR, 'qt:([0-9]+)', 1)::INTEGER AS n"
            f" FROM {run_folder.source('outcomes')} AS o JOIN read_parquet({sql_text(str(tape / 'events' / '*.parquet'))}) AS e"
            " USING (session, seq) WHERE contains(e.statement::VARCHAR, 'qt:') ORDER BY n"
        ).fetchall()
    assert [row[5] for row in rows] == list(range(STATEMENTS))
    assert {row[0] for row in rows} == {"executed"}
    assert sorted(row[1] for row in rows if row[1]) == [1054, 1062, 1146]
    tolerance = 0.1 if exact else 1.1
    shifts = sorted(due / 1e9 - moments[n] for _, _, due, _, _, n in rows)
    assert all(sent >= max(due, free) for _, _, due, sent, free, _ in rows)
    # On a busy machine, a thread may wake late. Nine of ten statements must be on time.
    off = sorted(abs(due / 1e9 - moments[n] - shifts[len(shifts) // 2]) for _, _, due, _, _, n in rows)
    late = sorted((sent - max(due, free)) / 1e9 for _, _, due, sent, free, _ in rows)
    assert off[9 * len(off) // 10] < tolerance
    assert late[9 * len(late) // 10] < 2.0
    assert run_folder.info["accounting"]["balanced"]
    assert run_folder.info["partial"] is None


@pytest.mark.long
@pytest.mark.parametrize("kind", mostly_long(KINDS, "mysql80"))
def test_source_server_of_a_tape_is_refused_as_target(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str
) -> None:
    """With --source, the tape contains the identity of the captured server."""
    source = server_factory(kind, {"slow_query_log": "ON", "long_query_time": "0"})
    prepare(source)
    drive(source)
    run("capture", "slowlog", source.slow_log, "-o", tmp_path / "t.tape", "--source", source.url())
    server = open_folder("tape", tmp_path / "t.tape").info["server"]
    assert server["identity"]
    assert server["variables"]
    text = run("replay", tmp_path / "t.tape", "--target", source.url("shop"), "-o", tmp_path / "t.run", status=1)
    assert "source" in text
    assert not (tmp_path / "t.run").exists()


def test_truncated_empty_and_binary_logs_give_one_line_errors(tmp_path: Path) -> None:
    """The exit code is 1, and no tape remains."""
    for name, content in (("empty.log", b""), ("binary.log", bytes(range(256)) * 999), ("missing.log", None)):
        log = tmp_path / name
        if content is not None:
            log.write_bytes(content)
        text = run("capture", "slowlog", log, "-o", tmp_path / "x.tape", status=1)
        (line,) = [line for line in text.splitlines() if not line.startswith("capture: ")]  # printed on a slow machine
        assert name in line
        assert not (tmp_path / "x.tape").exists()
