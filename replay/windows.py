# SPDX-License-Identifier: Apache-2.0
"""Walks a tape in order of time without sorting it whole.

A tape's parts are sorted inside but overlap. Their row groups give ranges of time with known sizes; cutting the time
line where enough of them have begun gives windows, each of which is sorted on its own.

    row groups   |--a--|   |---c---|
                     |---b---|        |--d--|
    windows      |          |         |       |     a window reads the files whose ranges touch it
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import duckdb

from ..schemas import sql_text

WINDOW_ROWS = 500_000
WINDOW_BYTES = 96 << 20


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
    listed = ", ".join(sql_text(file) for file in files)
    rows = con.execute(
        "SELECT file_name, any_value(row_group_num_rows), sum(total_uncompressed_size),"
        " min(try_cast(stats_min_value AS BIGINT)) FILTER (path_in_schema = 'start_ns'),"
        " max(try_cast(stats_max_value AS BIGINT)) FILTER (path_in_schema = 'start_ns')"
        f" FROM parquet_metadata([{listed}]) GROUP BY file_name, row_group_id ORDER BY 4, 1, row_group_id"
    ).fetchall()
    return [Range(str(f), int(n), int(b), int(first), int(last)) for f, n, b, first, last in rows if n]


def windows(ranges: Sequence[Range], max_rows: int = WINDOW_ROWS, max_bytes: int = WINDOW_BYTES) -> Iterator[Window]:
    """Yield windows that follow each other and cover every range.

    A window is cut before the range that would bring the rows (or bytes) of the ranges beginning in it past the bound;
    what it holds besides is the rest of ranges that began earlier.
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
