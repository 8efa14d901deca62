# SPDX-License-Identifier: Apache-2.0
"""Reads a tape in time order without sorting all of it.

Each part of a tape is sorted, but parts overlap in time. Their row groups have known time ranges and sizes. The time
line is cut into windows. A window ends when enough row groups have begun. Each window is sorted separately. A part with
large statements is measured and cut into pieces of limited size. The footer of the part is not enough, because it
counts repeated values once.

    row groups   |--a--|   |---c---|
                     |---b---|        |--d--|
    windows      |          |         |       |     a window reads the files whose ranges overlap the window
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import duckdb

from ...common.duck import duck_path, sql_files

WINDOW_ROWS = 500_000
WINDOW_BYTES = 96 << 20
BASE_MEMORY = 256 << 20  # bytes for DuckDB if no event is large
LARGE_EVENT = 64 << 10
COPIES_OF_EVENT = 4  # number of copies of each event while a window is fed: page, sorted row, result, Arrow


@dataclass(frozen=True)
class Range:
    """A row group: its file, its number of rows, its uncompressed bytes, and its first and last start time."""

    file: str
    rows: int
    bytes: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class Window:
    """Events with begin_ns <= start_ns < end_ns. The files in `files` contain all of these events."""

    begin_ns: int
    end_ns: int
    files: tuple[str, ...]


def row_groups(con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> list[Range]:
    """Return the row groups of a tape's parts. Only the footers are read."""
    if not files:
        return []
    rows = con.execute(
        "SELECT file_name, any_value(row_group_num_rows), sum(total_uncompressed_size),"
        " min(try_cast(stats_min_value AS BIGINT)) FILTER (path_in_schema = 'start_ns'),"
        " max(try_cast(stats_max_value AS BIGINT)) FILTER (path_in_schema = 'start_ns')"
        f" FROM parquet_metadata({sql_files(files)}) GROUP BY file_name, row_group_id ORDER BY 4, 1, row_group_id"
    ).fetchall()
    return [Range(str(f), int(n), int(b), int(first), int(last)) for f, n, b, first, last in rows if n]


@dataclass(frozen=True)
class Measured:
    """The pieces of a file in time order. `event_bytes`: its largest event. `group_bytes`: its largest row group."""

    pieces: tuple[Range, ...]
    event_bytes: int
    group_bytes: int

    def memory(self, copies: int) -> int:
        """Return the memory in bytes that DuckDB needs to sort a window of this file. Each event is sent `copies`
        times.
        """
        if self.event_bytes < LARGE_EVENT:
            return BASE_MEMORY
        whole_group = 2 * max(self.group_bytes - WINDOW_BYTES // 2, 0)
        return BASE_MEMORY + 2 * WINDOW_BYTES + COPIES_OF_EVENT * copies * self.event_bytes + whole_group


def measure(con: duckdb.DuckDBPyConnection, file: Path, max_bytes: int = WINDOW_BYTES) -> Measured | None:
    """Return the pieces of one part. Each piece has at most `max_bytes` of statements and parameters.

    Returns None if the part has no rows. A piece with a single event may exceed the limit. Raises `con`'s memory limit
    to the size needed to read the part.
    """
    groups = row_groups(con, [file])
    if not groups:
        return None
    largest_group = max(group.bytes for group in groups)
    raise_memory(con, BASE_MEMORY + 3 * max(largest_group - WINDOW_BYTES // 2, 0))
    size = "coalesce(octet_length(statement), 0) + coalesce(octet_length(params), 0)"
    source = f"read_parquet({sql_files([file])})"
    total, largest = con.execute(f"SELECT sum({size}), max({size}) FROM {source}").fetchall()[0]
    if total <= max_bytes:
        share = total / sum(group.bytes for group in groups)
        sized = (replace(group, bytes=max(group.bytes, round(group.bytes * share))) for group in groups)
        return Measured(tuple(sized), int(largest), largest_group)
    rows = con.execute(
        "SELECT count(*), sum(bytes), min(start_ns), max(start_ns) FROM ("
        f" SELECT start_ns, bytes, sum(bytes) OVER (ORDER BY start_ns, session, seq) // {max_bytes} AS piece"
        f" FROM (SELECT start_ns, session, seq, {size} AS bytes FROM {source})) GROUP BY piece ORDER BY piece"
    ).fetchall()
    pieces = tuple(Range(duck_path(file), int(n), int(b), int(first), int(last)) for n, b, first, last in rows)
    return Measured(pieces, int(largest), largest_group)


def raise_memory(con: duckdb.DuckDBPyConnection, needed: int) -> None:
    """Set the memory limit of a database to `needed` bytes, at least BASE_MEMORY."""
    con.execute(f"SET memory_limit = '{max(needed, BASE_MEMORY)}B'")


def windows(ranges: Sequence[Range], max_rows: int = WINDOW_ROWS, max_bytes: int = WINDOW_BYTES) -> Iterator[Window]:
    """Yield consecutive windows that cover every range.

    A window ends before the range that would exceed its limit of rows or bytes. Only ranges that begin in the window
    count. The window also contains the rest of earlier ranges.
    """
    ordered = sorted(ranges, key=lambda r: r.first_ns)
    if not ordered:
        return
    begin, rows, size = ordered[0].first_ns, 0, 0
    for first_ns, group in groupby(ordered, key=lambda r: r.first_ns):
        together = list(group)
        more_rows, more_bytes = sum(r.rows for r in together), sum(r.bytes for r in together)
        if rows and (rows + more_rows > max_rows or size + more_bytes > max_bytes):
            yield _window(ordered, begin, first_ns)
            begin, rows, size = first_ns, 0, 0
        rows += more_rows
        size += more_bytes
    yield _window(ordered, begin, max(r.last_ns for r in ordered) + 1)


def _window(ranges: Sequence[Range], begin: int, end: int) -> Window:
    touched = {r.file for r in ranges if r.first_ns < end and r.last_ns >= begin}
    return Window(begin, end, tuple(sorted(touched)))
