# SPDX-License-Identifier: Apache-2.0
"""A small TPC-C in three dialects: recorded by packets, slow log and general log, a restored copy ends with the same rows.

With foreign keys and without, and with procedures that commit by themselves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.library import capture
from querytape.replay import RunSummary, replay
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

from tests.conftest import skip_loudly
from tests.helpers.chance import repeated
from tests.helpers.live import may_capture, recording
from tests.helpers.whole import accounting, options, query
from tests.helpers.workloads import differences

from . import workload
from .workload import DIALECTS

pytestmark = pytest.mark.long
KINDS = ("mariadb", "mysql-8.0", "mariadb-11.8", "mysql-9")
CLIENTS, ROUNDS = 8, 80
SOURCES = ("packets", "slowlog", "general")


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Each kind of server, for all its workloads."""
    if why := workload.build():
        skip_loudly(request, f"{why}: the TPC-C is not replayed")
    if find_program(request.param) is None:
        skip_loudly(request, missing_sentence(request.param))
    with started(request.param) as server:
        yield server


@contextmanager
def started(kind: str) -> Iterator[Server]:
    """Start a server that logs every statement where `record` looks."""
    with start_server(kind) as server:
        server.execute(f"SET GLOBAL slow_query_log_file = '{server.folder / 'data' / 'tpcc.slow'}'")
        server.execute(f"SET GLOBAL general_log_file = '{server.folder / 'data' / 'tpcc.gen'}'")
        if server.kind.startswith("mysql"):
            server.execute("SET GLOBAL log_slow_extra = ON")
        server.execute("SET GLOBAL long_query_time = 0")
        yield server


# Recordings, and how many may be unable to tell the order: MySQL's answers may leave in another order than its commits.
RECORDINGS, TOLERATED = 3, 1


BEGUN_AGAIN = {1020, 1213}  # the programs begin a transaction again after these


def record(server: Server, source: str, dialect: str, tape: Path, **more: Any) -> None:
    """Let the clients run, and make a tape of it."""
    if source == "packets":
        with recording(server.port, tape):
            workload.drive(server.port, dialect, CLIENTS, ROUNDS, **more)
        return
    variable = "slow_query_log" if source == "slowlog" else "general_log"
    log = server.folder / "data" / ("tpcc.slow" if source == "slowlog" else "tpcc.gen")
    log.unlink(missing_ok=True)
    server.execute(f"FLUSH {'SLOW' if source == 'slowlog' else 'GENERAL'} LOGS")
    server.execute(f"SET GLOBAL {variable} = ON")
    workload.drive(server.port, dialect, CLIENTS, ROUNDS, **more)
    server.execute(f"SET GLOBAL {variable} = OFF")
    capture([log], tape, source)


def replayed(server: Server, tape: Path, output: Path) -> RunSummary:
    """Replay in the order of commits, as fast as it goes; the accounting balances and all is sent."""
    given = options(server, output, pace=Pace("none"), overrides=Overrides(clock=True), commit_order=True)
    summary = replay(tape, given)
    assert accounting(summary)[3] == 0
    return summary


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_rows_are_the_originals(
    server: Server, dialect: str, source: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """CHECKSUM TABLE and row by row; no error that the original had not.

    MariaDB's general log has several statements of one command as one, and not that they were allowed: not in its text.
    """
    if source == "packets":
        may_capture(request)
    if source == "general" and dialect == "text" and server.kind.startswith("mariadb"):
        return
    for keys in (False, True):

        def once(number: int, keys: bool = keys) -> int:
            folder = tmp_path / f"{keys}-{number}"
            folder.mkdir()
            return recorded_and_replayed(server, dialect, source, folder, keys)

        repeated(RECORDINGS, TOLERATED, once, lambda different: different == 0)


def recorded_and_replayed(server: Server, dialect: str, source: str, folder: Path, keys: bool) -> int:
    """Record once and replay it; return how many rows differ from the original's."""
    workload.create(server, keys=keys)
    record(server, source, dialect, folder / "t.tape")
    checksums, rows = workload.checksums(server), workload.contents(server)
    workload.create(server, keys=keys)
    summary = replayed(server, folder / "t.tape", folder / "t.run")
    assert set(summary.errors) <= errors_of(folder / "t.tape")
    different = differences(rows, workload.contents(server))
    assert different or workload.checksums(server) == checksums
    return different


@pytest.mark.parametrize("source", SOURCES[:2])
def test_procedures_that_commit(server: Server, source: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A CALL that begins and commits has its end alone for a moment: what two that overlapped did may change places."""
    if source == "packets":
        may_capture(request)
    workload.create(server, inside=True)
    record(server, source, "procedures", tmp_path / "t.tape", inside="true")
    rows = workload.contents(server)
    workload.create(server, inside=True)
    summary = replayed(server, tmp_path / "t.tape", tmp_path / "t.run")
    print(f"{differences(rows, workload.contents(server))} rows differ, errors {summary.errors}")
    assert set(summary.errors) <= errors_of(tmp_path / "t.tape")


def errors_of(tape: Path) -> set[int]:
    """Return the error numbers that the original had; where its log has none, those of transactions that were begun again."""
    known = {row[0] for row in query(f"SELECT DISTINCT errno FROM '{tape}/events/*.parquet'")}
    return known - {0} if known != {None} else BEGUN_AGAIN
