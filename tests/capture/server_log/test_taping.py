# SPDX-License-Identifier: Apache-2.0
"""The tape of a recorded log: without the tool's own sessions, with its coverage, and with what the log shows."""

from pathlib import Path

import pytest
from querytape.capture.server_log.carriers import Span
from querytape.capture.server_log.coverage import Counted
from querytape.capture.server_log.logging_plan import LoggingPlan
from querytape.capture.server_log.recording import Recorded
from querytape.capture.server_log.restore_file import RestoreFile
from querytape.capture.server_log.settings import Change, Left
from querytape.capture.server_log.taping import tape_of
from querytape.common.errors import InputError
from querytape.servers.facts import Facts

from tests.helpers.duck import database

ENTRY = """# Time: 2026-11-22T13:00:0{n}.000000Z
# User@Host: app[app] @ web1 [10.0.0.2]  Id: {thread}
# Query_time: {time}  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1
SET timestamp=179526600{n};
SELECT {n};
"""
CHANGES = (Change("long_query_time", "1.000000", "0"),)
BEFORE = Counted("performance_schema", 100, 0, {1: 5, 3: 10, 4: 10}, True, 5)


def recorded(tmp_path: Path, threads: dict[int, float], executed: int) -> tuple[Recorded, LoggingPlan]:
    """Return a recording whose log has one statement of each thread, {thread: seconds}."""
    log = tmp_path / "q.log"
    head = "mysqld, Version: 8.0.31 (MySQL). started with:\nTcp port: 3306  Unix socket: s\nTime Id Command Argument\n"
    entries = [ENTRY.format(n=n, thread=id_, time=f"{time:.6f}") for n, (id_, time) in enumerate(threads.items())]
    log.write_text(head + "".join(entries))
    after = Counted("performance_schema", 105 + executed, 0, {1: 10, 3: 20, 4: 10}, True, 10)
    saved = RestoreFile("mysql://a@h/", "id", "t", CHANGES, str(log), first_id=10)
    done = Recorded(
        log, "slowlog", "the time is over", False, BEFORE, after, frozenset({1, 2}), saved, Span(10, 30), Left()
    )
    return done, LoggingPlan(Facts("8.0.31"), "file", CHANGES, log, (), tmp_path / "r")


def test_own_sessions_are_not_on_it(tmp_path: Path) -> None:
    """Those of the tool are left out and not counted; a session of before that logs short statements carries."""
    done, plan = recorded(tmp_path, {1: 0.1, 3: 0.1, 2: 0.1, 4: 2.0, 20: 0.1}, executed=3)
    info, seen = tape_of(done, plan, tmp_path / "t", {}, lambda stats, total: None)
    with database() as con:
        rows = con.execute(f"SELECT thread_id FROM '{tmp_path}/t/events/*.parquet' ORDER BY 1").fetchall()
    assert rows == [(3,), (4,), (20,)]
    assert info["counts"]["sessions"] == 3
    assert info["coverage"]["share"] == 1.0
    assert [w for w in info["warnings"] if w["kind"] == "coverage"] == []
    assert seen == {3}


def test_partial(tmp_path: Path) -> None:
    """Less than 95 %: the warning of the tape is the sentence."""
    done, plan = recorded(tmp_path, {20: 0.1}, executed=4)
    info, _ = tape_of(done, plan, tmp_path / "t", {}, lambda stats, total: None)
    assert info["coverage"]["silent_sessions"] == 1
    (warning,) = [w for w in info["warnings"] if w["kind"] == "coverage"]
    assert warning["text"].startswith("the log holds 25 % of the statements executed in that time (1 of 4")


def test_nothing_but_its_own(tmp_path: Path) -> None:
    """No tape of the tool's own statements: a sentence with what the server executed in that time."""
    done, plan = recorded(tmp_path, {1: 0.1, 2: 0.1}, executed=9800)
    with pytest.raises(InputError, match=r"no tape was written.*holds 0 % .*\(0 of 9,800.*capture packets"):
        tape_of(done, plan, tmp_path / "t", {}, lambda stats, total: None)
    assert not (tmp_path / "t").exists()
