# SPDX-License-Identifier: Apache-2.0
"""The parts of a tape, which are written one after another, and their totals."""

import hashlib
from pathlib import Path

import duckdb
from querytape.capture.parts import Parts, Totals, part_entry
from querytape.capture.storage import open_storage
from querytape.native.bindings.parsers import open_slowlog
from querytape.schemas import columns

from tests.helpers.logs import write_mariadb

ROWS = [(1718000000 + n, 7 + n % 3, 0.5 * n, f"SELECT {n}") for n in range(10)]


def test_part_entry_describes_its_file(tmp_path: Path) -> None:
    """The entry of a part has rows, bytes, SHA-256, the first start and the last end. A part without rows has no file."""
    reader = open_slowlog([write_mariadb(tmp_path / "s.log", ROWS)])
    parts = Parts(duckdb.connect(), tmp_path)
    entry = parts.write_events(reader.part(1000, 1 << 20), tmp_path / "a.parquet")
    assert parts.write_events(reader.part(1000, 1 << 20), tmp_path / "b.parquet") is None
    reader.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "s.log"]
    with open_storage(tmp_path) as con:
        assert entry == part_entry(con, tmp_path, tmp_path / "a.parquet")
    assert entry["rows"] == 10
    assert entry["sha256"] == hashlib.sha256((tmp_path / "a.parquet").read_bytes()).hexdigest()


def test_totals_of_parts_match_the_events(tmp_path: Path) -> None:
    """Over all parts, the events, times, precision and known columns equal DuckDB's results for the files."""
    reader = open_slowlog([write_mariadb(tmp_path / "s.log", ROWS)])
    parts = Parts(duckdb.connect(), tmp_path)
    numbers = 0
    while parts.write_events(reader.part(3, 1 << 20), tmp_path / f"{numbers}.parquet"):
        numbers += 1
    reader.close()
    totals = parts.totals
    assert totals is not None
    assert numbers > 1
    names = [name for name, _ in columns("tape", "events")]
    counted = ", ".join(f'count("{name}")' for name in names)
    found = duckdb.execute(
        "SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0)), max(precision_ns),"
        f" [{counted}]"
        f" FROM read_parquet('{tmp_path}/*.parquet')"
    ).fetchall()[0]
    assert (totals.events, *totals.time_range().values()) == found[:4]
    assert totals.known_columns() == [name for name, n in zip(names, found[4], strict=True) if n]


def test_events_of_excluded_threads_are_left_out(tmp_path: Path) -> None:
    """With not_threads, the files lack the events of these threads. The totals are then unknown, because they would
    include these events.
    """
    reader = open_slowlog([write_mariadb(tmp_path / "s.log", ROWS)])
    parts = Parts(duckdb.connect(), tmp_path, not_threads=(7,))
    entry = parts.write_events(reader.part(1000, 1 << 20), tmp_path / "a.parquet")
    reader.close()
    threads = duckdb.execute(f"SELECT DISTINCT thread_id FROM '{tmp_path}/a.parquet' ORDER BY 1").fetchall()
    assert (entry or {})["rows"] == 6
    assert threads == [(8,), (9,)]
    assert parts.totals is None


def test_stream_without_rows_makes_no_file(tmp_path: Path) -> None:
    """The stream has problems but no events."""
    log = tmp_path / "s.log"
    write_mariadb(log, ROWS)
    log.write_bytes(log.read_bytes() + b"# Query_time: nonsense\nwhat is this\n")
    reader = open_slowlog([log])
    parts = Parts(duckdb.connect(), tmp_path)
    assert parts.write_rows(reader.problems(), tmp_path / "before.parquet") == 0
    reader.drain_part(1000, 1 << 20)
    rows = parts.write_rows(reader.problems(), tmp_path / "after.parquet")
    reader.close()
    assert rows > 0
    assert not (tmp_path / "before.parquet").exists()
    assert duckdb.execute(f"SELECT count(*) FROM '{tmp_path}/after.parquet'").fetchall() == [(rows,)]


def test_totals_without_parts_are_empty() -> None:
    """Without parts, no column counts as known."""
    assert Totals().known_columns() == []
