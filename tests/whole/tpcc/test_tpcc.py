# SPDX-License-Identifier: Apache-2.0
"""A small TPC-C in three dialects, captured from packets, slow log and general log. A replay on a restored copy ends
with the same rows. The variants have foreign keys, no foreign keys, or procedures that commit.
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
    """Provide each kind of server. All workloads on one kind of server share the server."""
    if why := workload.build():
        skip_loudly(request, f"{why}: the TPC-C is not replayed")
    if find_program(request.param) is None:
        skip_loudly(request, missing_sentence(request.param))
    with started(request.param) as server:
        yield server


@contextmanager
def started(kind: str) -> Iterator[Server]:
    """Start a server that writes every statement to the log file that `record` reads."""
    with start_server(kind) as server:
        server.execute(f"SET GLOBAL slow_query_log_file = '{server.folder / 'data' / 'tpcc.slow'}'")
        server.execute(f"SET GLOBAL general_log_file = '{server.folder / 'data' / 'tpcc.gen'}'")
        if server.kind.startswith("mysql"):
            server.execute("SET GLOBAL log_slow_extra = ON")
        server.execute("SET GLOBAL long_query_time = 0")
        yield server


# Number of recordings. In TOLERATED of them, the order may be unknown, because the order of MySQL's answers may differ
# from the order of its commits.
RECORDINGS, TOLERATED = 3, 1


BEGUN_AGAIN = {1020, 1213}  # after these errors, the clients repeat the transaction


def record(server: Server, source: str, dialect: str, tape: Path, **more: Any) -> None:
    """Run the clients, and make a tape of their traffic."""
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
    """Replay in commit order at full speed. Check that the accounting balances, and that all events are sent."""
    given = options(server, output, pace=Pace("none"), overrides=Overrides(clock=True), commit_order=True)
    summary = replay(tape, given)
    assert accounting(summary)[3] == 0
    return summary


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_tpcc_replay_in_commit_order_ends_with_the_original_rows(
    server: Server, dialect: str, source: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """CHECKSUM TABLE and all rows are equal. The replay has no new errors. The text dialect is not tested with
    MariaDB's general log. This log joins the parts of a multi-statement, and does not show that the session allowed
    multi-statements.
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
    """Record and replay the workload once. Return the number of rows that differ from the original."""
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
def test_procedures_that_commit_give_no_new_errors(
    server: Server, source: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """For a CALL that begins and commits a transaction, the log shows only the end of the CALL. Overlapping calls may
    therefore be replayed in another order, and rows may differ.
    """
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
    """Return the error numbers on the tape. If the source is a log without error numbers, return BEGUN_AGAIN."""
    known = {row[0] for row in query(f"SELECT DISTINCT errno FROM '{tape}/events/*.parquet'")}
    return known - {0} if known != {None} else BEGUN_AGAIN
