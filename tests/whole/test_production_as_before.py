# SPDX-License-Identifier: Apache-2.0
"""Tests of `capture server` next to a connection pool: settings left in sessions, and unlogged statements. The capture
is also killed at any moment.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.servers.sandbox import Server

from tests.helpers.tiers import mostly_long

OWN_LOG = {"slow-query-log": "ON", "long-query-time": "10"}
POOL, ROUNDS = 50, 40


def start(server: Server, tmp_path: Path, *options: str) -> "subprocess.Popen[str]":
    """Start `capture server` with its own state folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "querytape", "capture", "server", server.url(), *options],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def await_logging(server: Server, process: "subprocess.Popen[str]") -> None:
    """Wait until the server logs all statements of new sessions."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if float(settings(server)["long_query_time"]) == 0:
            return
        time.sleep(0.05)
    raise AssertionError(f"the capture did not begin: {process.communicate(timeout=10)}")


def settings(server: Server) -> dict[str, str]:
    rows = server.execute("SHOW GLOBAL VARIABLES")
    words = ("slow", "long_query", "log_output", "general_log", "min_examined")
    return {name: value for name, value in rows if any(word in name for word in words)}


def work(sessions: list[Any], rounds: int = 1) -> int:
    """Execute statements in all sessions, and return the number of statements."""
    for number in range(rounds):
        for session in sessions:
            with session.cursor() as cursor:
                cursor.execute(f"SELECT {number}")
    return rounds * len(sessions)


def growth(server: Server, sessions: list[Any]) -> int:
    """Return the growth of the server's own slow log in bytes while the sessions work."""
    before = server.slow_log.stat().st_size if server.slow_log.exists() else 0
    work(sessions)
    return (server.slow_log.stat().st_size if server.slow_log.exists() else 0) - before


@pytest.mark.long
@pytest.mark.parametrize("method", mostly_long(["file", "table"], "table"))
@pytest.mark.parametrize("kind", mostly_long(["mariadb", "mysql-8.0", "mysql-5.7"], "mysql-8.0"))
def test_sessions_of_a_capture_write_nothing_to_the_servers_own_log(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str, method: str
) -> None:
    """The sessions are opened before, during and after the capture. All settings are restored after the sessions end."""
    server = server_factory(kind, {**OWN_LOG, "performance-schema": "ON"})
    before = settings(server)
    sessions = [server.connect() for _ in range(3)]
    process = start(server, tmp_path, "-o", str(tmp_path / "t"), "--duration", "99s", "--watch", "1s", "--read", method)
    await_logging(server, process)
    sessions += [server.connect() for _ in range(3)]
    assert growth(server, sessions) == 0
    process.terminate()
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 1, said
    assert "NOT RESTORED: slow_query_log stays 'OFF' (was 'ON')" in said
    assert "3 sessions: " in said, said
    sessions += [server.connect() for _ in range(3)]
    assert growth(server, sessions) == 0
    assert {name for name, value in settings(server).items() if before[name] != value} <= {
        "slow_query_log",
        "log_slow_query",
    }
    ending = start(server, tmp_path, "--restore", "--watch", "60s")
    time.sleep(0.5)
    for session in sessions[3:6]:
        session.close()
    said, _ = ending.communicate(timeout=90)
    assert ending.returncode == 0, said
    assert settings(server) == before
    assert growth(server, sessions[:3] + sessions[6:]) == 0


@pytest.mark.long
def test_end_sessions_option_ends_only_idle_sessions_of_the_capture(
    server_factory: Callable[..., Server], tmp_path: Path
) -> None:
    """With --end-sessions, sessions that are older than the capture, or that have a transaction, stay open."""
    server = server_factory("mysql-8.0", {**OWN_LOG, "performance-schema": "ON"})
    before = settings(server)
    old = server.connect()
    options = ("--duration", "99s", "--watch", "60s", "--end-sessions", "--partial-ok")
    process = start(server, tmp_path, "-o", str(tmp_path / "t"), *options)
    await_logging(server, process)
    idle, busy = server.connect(), server.connect()
    work([idle])
    with busy.cursor() as cursor:
        cursor.execute("CREATE DATABASE d")
        cursor.execute("CREATE TABLE d.t (i INT)")
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO d.t VALUES (1)")
    process.terminate()
    assert process.stdout is not None
    assert any("1 session still has" in line for line in process.stdout)  # reads the output up to this line
    work([busy])
    busy.rollback()
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 0, said
    work([old])
    for session in (idle, busy):
        assert not alive(session)
    assert settings(server) == before


def alive(session: Any) -> bool:
    """Return whether the server still answers in a session."""
    try:
        return work([session]) == 1
    except Exception:
        return False


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "schema"),
    mostly_long(
        [("mysql-8.0", "ON"), ("mysql-5.7", "ON"), ("mysql-9", "OFF"), ("mariadb", "ON"), ("mariadb", "OFF")],
        ("mariadb", "OFF"),
    ),
)
def test_pool_without_reconnects_is_reported_as_unlogged(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str, schema: str
) -> None:
    """The pool has fifty connections, and none of them reconnects. The reported percentage of logged statements is
    correct within 1 %, and silent sessions are listed.
    """
    server = server_factory(kind, {"performance-schema": schema})
    pool = [server.connect() for _ in range(POOL)]
    output = tmp_path / "t"
    process = start(server, tmp_path, "-o", str(output), "--duration", "99s")
    await_logging(server, process)
    assert process.stdout is not None
    assert any(" of 99 s" in line for line in process.stdout)  # at this line, the capture has counted the sessions
    fresh = [server.connect() for _ in range(10)]
    if (kind, schema) == ("mysql-9", "OFF"):  # the server shows idle times in whole seconds
        time.sleep(3)
    old = work(pool, ROUNDS)
    new = work(fresh, ROUNDS) + len(fresh)  # plus one SET NAMES per login
    for session in fresh:
        session.close()
    process.terminate()
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 4, said
    info = json.loads((output / "tape.json").read_text())
    coverage = info["coverage"]
    assert coverage["basis"] == ("performance_schema" if schema == "ON" else "Questions")
    assert abs(coverage["share"] - new / (new + old)) < 0.01
    silent = coverage["silent_sessions"]
    assert silent == POOL
    assert f"logged nothing because of their old long_query_time: {silent}" in said
    if schema == "ON":
        assert abs(coverage["silent_statements"] - old) < 0.01 * old
    (text,) = [warning["text"] for warning in info["warnings"] if warning["kind"] == "coverage"]
    assert "capture packets" in text
    shown = subprocess.run(
        [sys.executable, "-m", "querytape", "inspect", str(output)], capture_output=True, text=True, timeout=60
    )
    assert "partial tape: the log holds" in shown.stdout
    for session in pool:
        session.close()


@pytest.mark.sampled
@pytest.mark.parametrize("method", ["file", "table", "general"])
@pytest.mark.parametrize("kind", ["mariadb", "mysql-8.0"])
def test_statements_of_querytape_are_never_on_the_tape(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str, method: str
) -> None:
    server = server_factory(kind)
    process = start(server, tmp_path, "-o", str(tmp_path / "t"), "--duration", "99s", "--read", method, "--partial-ok")
    end = time.monotonic() + 60
    while "ON" not in (settings(server)["general_log"], settings(server)["slow_query_log"]):
        assert time.monotonic() < end
    client = server.connect()
    work([client], 5)
    client.close()
    process.terminate()
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 0, said
    import duckdb

    with duckdb.connect() as con:
        texts = con.execute(f"SELECT DISTINCT statement::VARCHAR FROM '{tmp_path}/t/events/*.parquet'").fetchall()
    said_by_tool = ("performance_schema", "information_schema", "SET GLOBAL", "SET SESSION", "CONNECTION_ID", "LIKE")
    assert [text for (text,) in texts if text and any(word in text for word in said_by_tool)] == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mariadb", "mysql-8.0"])
def test_restore_after_sigkill_resets_all_settings(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str
) -> None:
    """The capture is killed at six moments between its start and its end. After the restore, no session fills the log."""
    server = server_factory(kind, {**OWN_LOG, "performance-schema": "ON"})
    before = settings(server)
    chance = random.Random(5)
    for number in range(6):
        sessions = [server.connect()]
        options = ("-o", str(tmp_path / f"t{number}"), "--duration", "1s", "--watch", "2s")
        process = start(server, tmp_path, *options)
        until = time.monotonic() + 0.4 + chance.random() * (0.4 + 0.6 * number)
        while time.monotonic() < until and process.poll() is None:
            if len(sessions) < 30:
                sessions.append(server.connect())
            time.sleep(0.05)
        process.kill()
        process.communicate(timeout=60)
        sessions.append(server.connect())
        if list((tmp_path / "state").rglob("*.json")):
            first = start(server, tmp_path, "--restore", "--watch", "0s")
            said, _ = first.communicate(timeout=60)
            assert growth(server, sessions) == 0, said
        for session in sessions:
            session.close()
        if list((tmp_path / "state").rglob("*.json")):
            last = start(server, tmp_path, "--restore", "--watch", "60s")
            said, _ = last.communicate(timeout=90)
            assert last.returncode == 0, said
        assert settings(server) == before
        assert not list((tmp_path / "state").rglob("*.json*"))


@pytest.mark.long
def test_capture_server_errors_name_only_its_own_options(server_factory: Callable[..., Server], tmp_path: Path) -> None:
    """The errors are a password in the URL, an unreadable table, and --allow-cleartext-password."""
    server = server_factory("mariadb")
    url = server.url().replace("root@", "root:geheim@")
    command = [sys.executable, "-m", "querytape", "capture", "server"]
    done = subprocess.run([*command, url, "--dry-run"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "--target" not in done.stderr
    assert "geheim" not in done.stderr
    assert "mysql://USER@HOST:PORT/: a password does not belong" in done.stderr
    server.execute("CREATE USER some@localhost")
    server.execute("GRANT SUPER, PROCESS ON *.* TO some@localhost")
    some = server.url().replace("root@", "some@")
    for options in (["--dry-run"], ["-o", str(tmp_path / "t")]):
        done = subprocess.run([*command, some, "--read", "table", *options], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "GRANT SELECT ON mysql.slow_log TO 'some'@'localhost'" in done.stderr
        assert "Traceback" not in done.stderr
    done = subprocess.run(
        [*command, server.url(), "--dry-run", "--allow-cleartext-password"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
