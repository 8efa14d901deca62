# SPDX-License-Identifier: Apache-2.0
"""Read the complete output of a reader as rows."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
from querytape.capture import SOURCES, Settings, capture_source
from querytape.native.bindings.parsers import open_packets
from querytape.native.bindings.reader import Reader

from .duck import database


@dataclass(frozen=True)
class Read:
    """The result of a read: events and problems as dicts by column, the reader's description, and the number of
    unparsed bytes.
    """

    events: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    description: dict[str, Any]
    not_understood: int

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of the problems, ordered by location."""
        return [str(problem["kind"]) for problem in self.problems]


def read_all(reader: Reader) -> Read:
    """Read a reader to its end and close it. Events stay in order of arrival. Problems are sorted by location."""
    with database() as con:
        return _read(reader, partial(_rows, con))


def read_quickly(reader: Reader) -> Read:
    """Read a reader like `read_all`, but without DuckDB, for tests with thousands of small inputs."""
    return _read(reader, arrow_rows)


def _read(reader: Reader, rows: Callable[[Any], list[dict[str, Any]]]) -> Read:
    events: list[dict[str, Any]] = []
    while not reader.stats().finished:
        events += rows(reader.part(1000, 1 << 20))
    problems = rows(reader.problems())
    description, lost = reader.describe(), reader.stats().not_understood
    reader.close()
    return Read(events, sorted(problems, key=lambda row: (row["file"], row["line"], row["offset"])), description, lost)


def arrow_rows(stream: Any) -> list[dict[str, Any]]:
    """Return the rows of an Arrow stream."""
    with pyarrow.RecordBatchReader.from_stream(stream) as batches:
        rows: list[dict[str, Any]] = batches.read_all().to_pylist()
    stream.close()
    return rows


def _rows(con: duckdb.DuckDBPyConnection, stream: Any) -> list[dict[str, Any]]:
    """Return the rows of a stream, read with DuckDB."""
    con.register("stream", stream)
    cursor = con.execute("FROM stream")
    names = [column[0] for column in cursor.description or []]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    con.unregister("stream")
    stream.close()
    return rows


def events(path: Path, ports: Sequence[int] = (3306,)) -> tuple[list[dict[str, Any]], list[str], dict[str, Any]]:
    """Return every event of a capture file in session order, the kinds of problems, and the description."""
    read = read_all(open_packets([path], ports))
    kinds = [str(row["kind"]) for row in sorted(read.problems, key=lambda row: row["offset"])]
    return sorted(read.events, key=lambda e: (e["session"], e["seq"])), kinds, read.description


def check_places(found: dict[str, Any], path: Path) -> None:
    """Check that each event and problem has a valid location in the file. Each session numbers its events from 1
    without gaps.
    """
    size, last = path.stat().st_size, Counter[int]()
    for row in [*found["events"], *found["problems"]]:
        assert 0 <= row["offset"] <= size, row
    for event in found["events"]:
        last[event["session"]] += 1
        assert event["seq"] == last[event["session"]], event


def statements_and_results(found: list[dict[str, Any]]) -> list[tuple[str, bytes | None, int | None, int | None]]:
    """Return (command, statement, rows sent, errno) for each event."""
    return [(e["command"], e["statement"], e["rows_sent"], e["errno"]) for e in found]


def tape_of(kind: str, path: Path, tmp_path: Path, **extra: Any) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Capture a file. Return (command, statement, thread, start, duration, user, host, db, errno, rows) of its events,
    and tape.json.
    """
    out = tmp_path / f"{path.name}.tape"
    info = capture_source(SOURCES[kind], [str(path)], out, Settings(extra=extra))
    with database() as con:
        found = con.execute(
            'SELECT command, statement, thread_id, start_ns, duration_ns, "user", host, db, errno, rows_sent'
            f" FROM '{out}/events/*.parquet' ORDER BY session, seq"
        ).fetchall()
    return found, info
