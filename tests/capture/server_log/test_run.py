# SPDX-License-Identifier: Apache-2.0
"""A server's log becomes a tape. The server's settings are restored at the end, even after a failure or a kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.server_log.coverage import Counted
from querytape.capture.server_log.plan import LoggingPlan
from querytape.capture.server_log.restore import RestoreFile
from querytape.capture.server_log.run import Course, Recorded, tape_of
from querytape.capture.server_log.sessions import Span
from querytape.capture.server_log.settings import Change, Left
from querytape.capture.source import Settings
from querytape.common.errors import InputError
from querytape.servers.facts import Facts, gather
from querytape.servers.sandbox import Server
from querytape.servers.target import parse_target

from tests.helpers.duck import query
from tests.helpers.tiers import mostly_long

KINDS = ("mariadb", "mysql-5.7", "mysql-8.0", "mysql-9", "mariadb-11.8")
STATEMENTS = 23
ENTRY = """# Time: 2026-11-22T13:00:0{n}.000000Z
# User@Host: app[app] @ web1 [10.0.0.2]  Id: {thread}
# Query_time: {time}  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1
SET timestamp=179526600{n};
SELECT {n};
"""
CHANGES = (Change("long_query_time", "1.000000", "0"),)
BEFORE = Counted("performance_schema", 100, 0, {1: 5, 3: 10, 4: 10}, True, 5)


def variables(server: Server) -> dict[str, str]:
    """Return the server variables that a capture may change."""
    found = gather(parse_target(server.url()).connect()).variables
    words = ("slow", "long_query", "log_output", "general_log", "min_examined")
    return {name: value for name, value in found.items() if any(word in name for word in words)}


def begin(url: str, tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    """Start a capture in its own process, with its own state folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "querytape", "capture", "server", url, *options],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_end(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait until a capture ends, and return its messages."""
    said = process.communicate(timeout=60)
    assert process.returncode == code, said
    return said[1]


def start(server: Server, tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    """Start a capture, and wait until the server logs statements for it."""
    more = ["-o", str(tmp_path / "s.tape"), "--partial-ok"]  # 23 statements are too few to compute the coverage
    process = begin(server.url(), tmp_path, *more, *options)
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        now = variables(server)
        logs = now.get("long_query_time", "").startswith("0.0") or now.get("general_log") == "ON"
        if any((tmp_path / "state").rglob("*.json")) and logs:
            return process
        time.sleep(0.05)
    raise AssertionError(f"the capture did not begin: {process.communicate(timeout=10)}")


def drive(server: Server) -> None:
    """Send a known number of statements over one new connection."""
    con: Any = server.connect(autocommit=True)
    with con.cursor() as cursor:
        for n in range(STATEMENTS):
            cursor.execute(f"SELECT /* drive */ {n}, '\n# Time: 240610  8:13:20\n# Query_time: 1'")
    con.close()


def driven(tape: Path) -> list[tuple[int, int]]:
    """Return (session, rows) for each statement that drive() sent, in order."""
    return query(
        f"SELECT session, rows_sent FROM '{tape}/events/*.parquet' WHERE contains(statement::VARCHAR, 'drive')"
        " ORDER BY start_ns, seq"
    )


@pytest.mark.sampled
@pytest.mark.parametrize("method", ["file", "table", "general"])
@pytest.mark.parametrize("kind", mostly_long(KINDS, "mysql-8.0"))
def test_all_statements_of_a_new_connection_are_captured(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str, method: str
) -> None:
    """All 23 statements belong to one session, whether the log is a file or a table. The settings are restored."""
    server = server_factory(kind)
    before = variables(server)
    process = start(server, tmp_path, "--read", method, "--duration", "15s")
    drive(server)
    said = wait_for_end(process)
    assert f"SET GLOBAL {'general_log' if method == 'general' else 'long_query_time'}" in said
    assert "the capture reached its --duration" in said
    found = driven(tmp_path / "s.tape")
    assert len(found) == STATEMENTS
    assert len({session for session, _ in found}) == 1
    assert {rows for _, rows in found} == {None if method == "general" else 1}
    assert variables(server) == before
    assert not list((tmp_path / "state").rglob("*.json"))
    assert not list(server.datadir.glob("querytape-*.log"))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_sigkilled_capture_is_restored_once(server_factory: Callable[..., Server], tmp_path: Path, kind: str) -> None:
    """A killed process cannot restore settings. `--restore` restores them. A second `--restore` changes nothing."""
    server = server_factory(kind)
    before = variables(server)
    process = start(server, tmp_path, "--duration", "60s")
    process.kill()
    process.wait(10)
    assert variables(server) != before
    for words in (["-o", str(tmp_path / "x.tape")], ["--dry-run"]):
        assert "--restore" in wait_for_end(begin(server.url(), tmp_path, *words), 1)
    wait_for_end(begin(server.url(), tmp_path, "--restore"))
    assert variables(server) == before
    assert "nothing to restore" in wait_for_end(begin(server.url(), tmp_path, "--restore"), 1)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_capture_keeps_its_tape(
    server_factory: Callable[..., Server], tmp_path: Path, number: signal.Signals
) -> None:
    """After Ctrl-C or SIGTERM the tape is written and the settings are restored."""
    server = server_factory("mariadb")
    before = variables(server)
    process = start(server, tmp_path, "--duration", "60s")
    drive(server)
    process.send_signal(number)
    assert "stopped by hand" in wait_for_end(process)
    assert len(driven(tmp_path / "s.tape")) == STATEMENTS
    assert variables(server) == before


@pytest.mark.long
def test_dry_run_and_max_disk_options(server_factory: Callable[..., Server], tmp_path: Path) -> None:
    """`--dry-run` changes no setting. A log that grows past `--max-disk` ends the capture."""
    server = server_factory("mariadb")
    before = variables(server)
    assert "SET GLOBAL slow_query_log = 'ON'" in wait_for_end(begin(server.url(), tmp_path, "--dry-run"))
    assert variables(server) == before
    process = start(server, tmp_path, "--duration", "60s", "--max-disk", "1k")
    drive(server)
    assert "--max-disk" in wait_for_end(process)
    assert variables(server) == before


def test_account_without_the_privilege_is_refused(server_factory: Callable[..., Server], tmp_path: Path) -> None:
    """The command prints a message and exits with code 1. No setting changes, and no restore file remains."""
    server = server_factory("mariadb")
    server.execute("CREATE USER weak@localhost")
    before = variables(server)
    url = server.url().replace(f"{server.user}@", "weak@")
    said = wait_for_end(begin(url, tmp_path, "-o", str(tmp_path / "w.tape")), 1)
    assert "GRANT SUPER ON *.* TO 'weak'@'localhost'" in said
    assert "Traceback" not in said
    assert variables(server) == before
    assert not list((tmp_path / "state").rglob("*.json"))


def recorded(tmp_path: Path, threads: dict[int, float], executed: int) -> tuple[Recorded, LoggingPlan]:
    """Return a recording. Its log has one statement of each thread in `threads` {thread: seconds}."""
    log = tmp_path / "q.log"
    head = "mysqld, Version: 8.0.31 (MySQL). started with:\nTcp port: 3306  Unix socket: s\nTime Id Command Argument\n"
    entries = [ENTRY.format(n=n, thread=id_, time=f"{time:.6f}") for n, (id_, time) in enumerate(threads.items())]
    log.write_text(head + "".join(entries))
    after = Counted("performance_schema", 105 + executed, 0, {1: 10, 3: 20, 4: 10}, True, 10)
    saved = RestoreFile("mysql://a@h/", "id", "t", CHANGES, str(log), first_id=10)
    course = Course("the capture reached its --duration", before=BEFORE, after=after)
    done = Recorded(log, "slowlog", course, frozenset({1, 2}), saved=saved, span=Span(10, 30), left=Left())
    return done, LoggingPlan(Facts("8.0.31"), "file", CHANGES, log, (), tmp_path / "r")


def test_own_sessions_are_not_on_the_tape(tmp_path: Path) -> None:
    """The tool's own sessions do not count for the coverage. An older session whose short statements are logged has the
    capture's threshold.
    """
    done, plan = recorded(tmp_path, {1: 0.1, 3: 0.1, 2: 0.1, 4: 2.0, 20: 0.1}, executed=3)
    info, seen = tape_of(done, plan, tmp_path / "t", Settings(server={}))
    rows = query(f"SELECT thread_id FROM '{tmp_path}/t/events/*.parquet' ORDER BY 1")
    assert rows == [(3,), (4,), (20,)]
    assert info["counts"]["sessions"] == 3
    assert info["coverage"]["share"] == 1.0
    assert [w for w in info["warnings"] if w["kind"] == "coverage"] == []
    assert seen == {3}


def test_coverage_below_95_percent_adds_a_warning(tmp_path: Path) -> None:
    done, plan = recorded(tmp_path, {20: 0.1}, executed=4)
    info, _ = tape_of(done, plan, tmp_path / "t", Settings(server={}))
    assert info["coverage"]["silent_sessions"] == 1
    (warning,) = [w for w in info["warnings"] if w["kind"] == "coverage"]
    assert warning["text"].startswith(
        "the log contains 25 % of the statements that the server executed during the capture (1 of 4"
    )


def test_log_with_only_own_statements_gives_no_tape(tmp_path: Path) -> None:
    """The message shows how many statements the server executed during the capture."""
    done, plan = recorded(tmp_path, {1: 0.1, 2: 0.1}, executed=9800)
    with pytest.raises(InputError, match=r"no tape was written.*contains 0 % .*\(0 of 9,800.*capture packets"):
        tape_of(done, plan, tmp_path / "t", Settings(server={}))
    assert not (tmp_path / "t").exists()
