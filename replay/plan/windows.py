# SPDX-License-Identifier: Apache-2.0
"""Walks a tape in order of time without sorting the whole of it.

A tape's parts are sorted inside but overlap. Their row groups give ranges of time with known sizes; cutting the time
line where enough of them have begun gives windows, each of which is sorted on its own. A part of large statements is
measured, and cut into pieces of a bounded size: its footer counts a value that repeats once.

    row groups   |--a--|   |---c---|
                     |---b---|        |--d--|
    windows      |          |         |       |     a window reads the files whose ranges touch it
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import duckdb

from ...common.duck import duck_path, sql_files

WINDOW_ROWS = 500_000
WINDOW_BYTES = 96 << 20
BASE_MEMORY = 256 << 20  # of DuckDB, where no event is large
LARGE_EVENT = 64 << 10
COPIES_OF_EVENT = 4  # page, row to be sorted, result, Arrow: of each event while a window is fed


@dataclass(frozen=True)
class Range:
    """A row group: its file, its rows and uncompressed bytes, and its first and last start."""

    file: str
    rows: int
    bytes: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class Window:
    """Events with begin_ns <= start_ns < end_ns, all of which are in `files`."""

    begin_ns: int
    end_ns: int
    files: tuple[str, ...]


def row_groups(con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> list[Range]:
    """Return the row groups of a tape's parts from the footers alone."""
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
    """A file's pieces in order of time, its largest event, and its largest row group as the file has it, in bytes."""

    pieces: tuple[Range, ...]
    event_bytes: int
    group_bytes: int

    def memory(self, copies: int) -> int:
        """Return the bytes that DuckDB needs to sort a window of this file, in which each event is sent so often."""
        if self.event_bytes < LARGE_EVENT:
            return BASE_MEMORY
        whole_group = 2 * max(self.group_bytes - WINDOW_BYTES // 2, 0)
        return BASE_MEMORY + 2 * WINDOW_BYTES + COPIES_OF_EVENT * copies * self.event_bytes + whole_group


def measure(con: duckdb.DuckDBPyConnection, file: Path, max_bytes: int = WINDOW_BYTES) -> Measured | None:
    """Return the pieces of one part, at most `max_bytes` of statements and parameters each; None where it has no row.

    One event may be more than that. Raises `con`'s memory limit to what reading the part takes.
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
    """Let a database take this many bytes, where its limit is lower."""
    con.execute(f"SET memory_limit = '{max(needed, BASE_MEMORY)}B'")


def windows(ranges: Sequence[Range], max_rows: int = WINDOW_ROWS, max_bytes: int = WINDOW_BYTES) -> Iterator[Window]:
    """Yield windows that follow each other and cover every range.

    A window is cut before the range that would bring the rows (or bytes) of the ranges beginning in it past the bound;
    it also has the rest of ranges that began earlier.
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
