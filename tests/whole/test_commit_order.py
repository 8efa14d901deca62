# SPDX-License-Identifier: Apache-2.0
"""Tests of --order commit on real servers. A replay against a restored copy ends with the captured server's data, even
with --pace none. Each workload is recorded as packets on the loopback interface. The number of differing rows is
compared with that of a replay without --order commit.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from querytape.replay import RunSummary, replay
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.chance import repeated
from tests.helpers.live import may_capture, recording
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options, outcomes, query
from tests.helpers.workloads import OBJECTS, QUEUES, TRADE, Workload, differences

from ..conftest import ServerFactory, skip_loudly

KINDS = ("mariadb", "mysql-8.0", "mysql-9")
RECORDINGS, TOLERATED = 3, 1  # number of recordings; on a busy machine, TOLERATED of them may fail
CLIENTS, ROUNDS = 8, 40
FEW = 4  # a row that differs counts once per side


def run(server: Server, tape: Path, output: Path, **more: Any) -> RunSummary:
    """Replay at full speed with the clock and the ids of the tape. The accounting must balance, and every event must be
    executed or skipped.
    """
    given = options(server, output, pace=Pace("none"), overrides=Overrides(clock=True, ids=True), **more)
    summary = replay(tape, given)
    executed, filtered, skipped, not_sent = accounting(summary)
    assert (filtered, not_sent) == (0, 0)
    assert executed + skipped == summary.info["accounting"]["tape_events"]
    return summary


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workload", [OBJECTS, TRADE], ids=lambda workload: str(workload.name))
def test_replay_in_commit_order_ends_with_the_original_rows(
    kind: str, workload: Workload, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Eight clients change a few hot rows with generated ids. The changes do not commute. The replay plan looks at
    autocommit writes that last longer than a whole transaction on the same row. It assumes that such a write waited for
    the transaction. On a busy machine, the server may be stopped before it answers a write, and then the assumption is
    wrong (docs/replay.md). The rows of such writes may therefore differ in one of three recordings.
    """
    may_capture(request)
    server = server_factory(kind)

    def once(number: int) -> set[tuple[str, Any]]:
        folder = tmp_path / str(number)
        folder.mkdir()
        found, rows = record_and_replay(workload, server, folder, seed=1 + number)
        print(f"{kind} {workload.name}: {found[True]} rows differ under --order commit, {found[False]} without")
        assert found[False] > 5
        assert rows <= spanned(folder / "w.tape")
        return rows

    repeated(RECORDINGS, TOLERATED, once, lambda rows: rows == set())


def record_and_replay(
    workload: Workload, server: Server, folder: Path, seed: int
) -> tuple[dict[bool, int], set[tuple[str, Any]]]:
    """Replay a recording with and without --order commit. Return the number of differing rows for each, and the (table,
    object) rows that differ with --order commit.
    """
    workload.create(server)
    with recording(server.port, folder / "w.tape"):
        workload.drive(server.port, CLIENTS, ROUNDS, seed=seed, think_s=0.04)
    original = workload.contents(server)
    found = {}
    rows: set[tuple[str, Any]] = set()
    for order in (True, False):
        workload.create(server)
        summary = run(server, folder / "w.tape", folder / f"{order}.run", commit_order=order)
        replayed = workload.contents(server)
        found[order] = differences(original, replayed)
        if order:
            rows = {
                (table, row[table == "history"])
                for table in original
                for row in {*original[table]} ^ {*replayed[table]}
            }
            counts = summary.info["accounting"]
            assert summary.errors == {}
            assert counts["order_waits"] > 50
            assert counts["order_broken"] == 0
            waited = [row[0] for row in outcomes(folder / "True.run", "order_ns") if row[0] is not None]
            assert len(waited) == counts["order_waits"]
            assert sum(waited) == counts["order_wait_ns"]
    return found, rows


def spanned(tape: Path) -> set[tuple[str, int]]:
    """Return the (table, object) rows with an autocommit write that lasts longer than a transaction on the row. A
    transaction starts to work on an object at its first statement that names the object. The work ends when the
    transaction sends its COMMIT.
    """
    columns = "session, seq, start_ns, start_ns + duration_ns AS end_ns, decode(statement) AS text"
    named = query(
        f"""
        WITH said AS (SELECT {columns} FROM '{tape}/events/*.parquet' WHERE statement IS NOT NULL),
        placed AS (
            SELECT *, max(CASE WHEN text IN ('BEGIN', 'COMMIT', 'ROLLBACK') THEN seq END) OVER before AS edge,
                last(CASE WHEN text IN ('BEGIN', 'COMMIT', 'ROLLBACK') THEN text END IGNORE NULLS) OVER before AS kind,
                first(CASE WHEN text IN ('COMMIT', 'ROLLBACK') THEN start_ns END IGNORE NULLS) OVER behind AS over_ns
            FROM said
            WINDOW before AS (PARTITION BY session ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                behind AS (PARTITION BY session ORDER BY seq ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
        )
        SELECT text, kind = 'BEGIN' AS inside, start_ns, end_ns, over_ns FROM placed
        """
    )
    alone = [(ids(text)[-1:], start, end) for text, inside, start, end, _ in named if not inside and "UPDATE" in text]
    taken = [(ids(text), end, over) for text, inside, _, end, over in named if inside and ids(text) and over]
    found = {
        which
        for (which,), start, end in alone
        for objects, locked, over in taken
        if which in objects and start < locked and over < end
    }
    return {(table, which) for table in OBJECTS.tables for which in found}


def ids(text: str) -> list[int]:
    """Return the object ids in a statement of the OBJECTS workload."""
    listed = re.findall(r"WHERE (?:id|object_id) (?:= |IN \()(\d+)(?:, (\d+))?", text)
    return [int(number) for pair in listed for number in pair if number]


def capture_slow_log(server: Server, tape: Path) -> None:
    """Capture a tape from the server's slow log."""
    command = [sys.executable, "-m", "querytape", "capture", "slowlog", str(server.slow_log), "-o", str(tape)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def replay_again(workload: Workload, server: Server, folder: Path, order: bool) -> tuple[dict[str, Any], RunSummary]:
    """Replay folder/w.tape against a new copy of the data. Return the final tables without generated ids, and the
    summary.
    """
    workload.create(server)
    given = options(
        server,
        folder / f"{order}.run",
        pace=Pace("none"),
        overrides=Overrides(clock=True, ids=True),
        commit_order=order,
        partial_ok=True,
    )
    summary = replay(folder / "w.tape", given)
    assert summary.info["accounting"]["balanced"]
    return workload.contents(server, ids=False), summary


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workload", [OBJECTS, TRADE], ids=lambda workload: str(workload.name))
def test_slow_log_replay_in_commit_order_ends_with_the_original_rows(
    kind: str, workload: Workload, server_factory: ServerFactory, tmp_path: Path
) -> None:
    """A slow log has no generated ids. On MariaDB, it also has only whole seconds. MariaDB logs some entries after the
    entries of statements that waited for their rows (docs/replay.md). One or two rows may therefore differ on MariaDB.
    tests/replay/plan/test_commit_order_cases.py checks the cases with a known order. On a busy machine, any server may
    log an entry late, so one of three recordings may differ.
    """
    server, seconds = server_factory(kind), kind == "mariadb"

    def once(number: int) -> tuple[int, int]:
        folder = tmp_path / str(number)
        folder.mkdir()
        workload.create(server)
        if number > 0:
            os.truncate(server.slow_log, 0)
        server.execute("SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON")
        workload.drive(server.port, CLIENTS, ROUNDS, think_s=0.04)
        server.execute("SET GLOBAL slow_query_log = OFF")
        capture_slow_log(server, folder / "w.tape")
        original = workload.contents(server, ids=False)
        ordered, summary = replay_again(workload, server, folder, order=True)
        assert summary.errors == {}
        found = differences(original, ordered), summary.info["accounting"]["order_broken"]
        plain = differences(original, replay_again(workload, server, folder, order=False)[0])
        print(f"{kind} {workload.name} by slow log: {found[0]} rows differ under --order commit, {plain} without")
        assert plain > 5
        return found

    def is_right(found: tuple[int, int]) -> bool:
        return found[0] <= FEW if seconds else found == (0, 0)

    repeated(RECORDINGS, TOLERATED, once, is_right)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_gap_locks_cause_no_timed_out_wait(
    kind: str, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """INSERTs compete with reads of missing rows at the isolation level REPEATABLE READ. On a busy machine, waits may
    time out in one of three recordings (docs/replay.md). The run reports this. New errors are accepted only in such a
    recording.
    """
    may_capture(request)
    server = server_factory(kind)

    def once(number: int) -> tuple[int, int]:
        tape = tmp_path / f"{number}.tape"
        QUEUES.create(server)
        with recording(server.port, tape):
            QUEUES.drive(server.port, CLIENTS, ROUNDS, seed=number, think_s=0.004)
        original = QUEUES.contents(server)
        QUEUES.create(server)
        summary = run(server, tape, tmp_path / f"{number}.run", commit_order=True)
        broken = summary.info["accounting"]["order_broken"]
        assert broken or set(summary.errors) <= errors_of(tape)
        return differences(original, QUEUES.contents(server)), broken

    repeated(RECORDINGS, TOLERATED, once, lambda found: found == (0, 0))


def sysbench(server: Server, test: str, *more: str, seed: int = 7) -> None:
    """Run a sysbench command and check that it succeeds."""
    connection = (f"--mysql-port={server.port}", "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-ssl=off")
    given = ("--tables=2", "--table-size=1000", f"--rand-seed={seed}", *more)
    done = subprocess.run(["sysbench", test, *connection, *given], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def drive_sysbench(server: Server, test: str, prepared: str, *more: str) -> None:
    """Run a sysbench workload three times, so that session ids occur again. Deadlocks are ignored, and the next
    transaction begins with BEGIN.
    """
    given = [f"--db-ps-mode={prepared}", "--threads=6", "--events=50", "--time=0", "--mysql-ignore-errors=all", *more]
    for seed in (7, 8, 9):
        sysbench(server, test, *given, "run", seed=seed)


def copy_tables(server: Server, source: str, target: str) -> None:
    """Recreate a schema from the tables of another schema."""
    server.execute(f"DROP DATABASE IF EXISTS {target}")
    server.execute(f"CREATE DATABASE {target}")
    for table in ("sbtest1", "sbtest2"):
        server.execute(f"CREATE TABLE {target}.{table} LIKE {source}.{table}")
        server.execute(f"INSERT INTO {target}.{table} SELECT * FROM {source}.{table}")


def checksums(server: Server) -> Any:
    """Return the result of CHECKSUM TABLE for the sysbench tables."""
    return server.execute("CHECKSUM TABLE sbtest.sbtest1, sbtest.sbtest2")


@pytest.mark.sampled
@pytest.mark.parametrize("test", mostly_long(["oltp_write_only", "oltp_read_write"], "oltp_read_write"))
@pytest.mark.parametrize("kind", ["mariadb", "mysql-8.0"])
@pytest.mark.parametrize("prepared", mostly_long(["disable", "auto"], "auto"), ids=["text", "prepared"])
def test_sysbench_replay_ends_with_equal_checksums(
    test: str,
    kind: str,
    prepared: str,
    server_factory: ServerFactory,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """The transactions use text and prepared statements. Some of them end in a deadlock. The replay has no new errors."""
    may_capture(request)
    if shutil.which("sysbench") is None:
        skip_loudly(request, "no sysbench: its workloads are not replayed")
    server = server_factory(kind)
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE DATABASE sbtest")
    sysbench(server, test, "prepare")
    copy_tables(server, "sbtest", "kept")
    with recording(server.port, tmp_path / "s.tape"):
        drive_sysbench(server, test, prepared)
    original = checksums(server)
    copy_tables(server, "kept", "sbtest")
    summary = run(server, tmp_path / "s.tape", tmp_path / "s.run", commit_order=True)
    assert checksums(server) == original
    assert set(summary.errors) <= errors_of(tmp_path / "s.tape")
    commands = {row[0] for row in outcomes(tmp_path / "s.run", "reason")}
    assert commands <= {None, "connect_by_replayer"}


@pytest.mark.long
@pytest.mark.parametrize("prepared", ["disable", "auto"], ids=["text", "prepared"])
@pytest.mark.parametrize("kind", KINDS)
def test_sysbench_slow_log_replay_ends_with_equal_checksums(
    kind: str, prepared: str, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """MariaDB's slow log does not show which session a deadlock rolled back."""
    if shutil.which("sysbench") is None:
        skip_loudly(request, "no sysbench: its workloads are not replayed")
    server = server_factory(kind)
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE DATABASE sbtest")
    sysbench(server, "oltp_read_write", "prepare")
    copy_tables(server, "sbtest", "kept")
    if kind != "mariadb":
        server.execute("SET GLOBAL log_slow_extra = ON")
    server.execute("SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON")
    drive_sysbench(server, "oltp_read_write", prepared)
    server.execute("SET GLOBAL slow_query_log = OFF")
    capture_slow_log(server, tmp_path / "s.tape")
    original = checksums(server)
    copy_tables(server, "kept", "sbtest")
    summary = run(server, tmp_path / "s.tape", tmp_path / "s.run", commit_order=True, partial_ok=True)
    assert set(summary.errors) <= errors_of(tmp_path / "s.tape")
    assert checksums(server) == original


def errors_of(tape: Path) -> set[int]:
    """Return the error numbers on the tape."""
    return {row[0] for row in query(f"SELECT DISTINCT errno FROM '{tape}/events/*.parquet' WHERE errno <> 0")}
