# SPDX-License-Identifier: Apache-2.0
"""What the servers counted, for each write of their runs."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.analyze.findings.write_counters import MIN_WRITES, write_counters
from querytape.schemas import Folder, columns, open_folder

from tests.helpers.duck import database
from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def run_of(folder: Path, con: duckdb.DuckDBPyConnection, writes: int, before: Any, after: Any) -> Folder:
    """Make a run that sent so many writes in two ticks."""
    tape = folder / "t.tape"
    if not tape.exists():
        make_tape(tape, [{"statement": "SELECT 1"}])
    number = len(list(folder.glob("*.run")))
    kept = {"before": before, "after": after}
    run = make_run(folder / f"{number}.run", tape, [{}], server_counters=kept)
    listed = ", ".join(f"{'n' if name == 'writes' else 0} AS {name}" for name, _ in columns("run", "ticks"))
    con.execute(f"COPY (SELECT {listed} FROM (VALUES ({writes - 1}), (1)) AS v(n)) TO '{run}/ticks.parquet'")
    return open_folder("run", run)


@pytest.fixture
def con() -> Any:
    """A database."""
    with database() as made:
        yield made


def test_all_rounds_together(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    """By the writes of all; a round in which the server was started anew is left out, with its writes."""
    start = {"uptime": 10, "binlog_cache_use": 5}
    rounds = [
        run_of(tmp_path, con, 100, start, {"uptime": 20, "binlog_cache_use": 105}),
        run_of(tmp_path, con, 100, start, {"uptime": 20, "binlog_cache_use": 25}),
        run_of(tmp_path, con, 900, start, {"uptime": 2, "binlog_cache_use": 25}),
    ]
    assert write_counters(con, {"a": rounds, "b": rounds[:1]}) == {
        "a": {"binlog_cache_use": 0.6},
        "b": {"binlog_cache_use": 1.0},
    }


def test_what_is_not_known(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    """Older runs, runs of reads, a server that was gone at the end, and too few writes."""
    start, end = {"binlog_cache_use": 5}, {"binlog_cache_use": 105}
    assert write_counters(con, {"a": [run_of(tmp_path, con, 100, start, None)]}) == {}
    assert write_counters(con, {"a": [run_of(tmp_path, con, MIN_WRITES - 1, start, end)]}) == {}
    run = run_of(tmp_path, con, 100, start, end)
    run.info["server_counters"] = None
    assert write_counters(con, {"a": [run], "b": []}) == {}
