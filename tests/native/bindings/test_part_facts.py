# SPDX-License-Identifier: Apache-2.0
"""A watched stream, which passes rows on unchanged and summarizes them."""

from contextlib import closing
from typing import Any

import duckdb
import pytest
from querytape.common.errors import NativeFault
from querytape.native._querytape import ffi, lib
from querytape.native.bindings.part_facts import PartFacts, WatchedStream
from querytape.native.bindings.streams import Stream, stream_pointer

NOTHING = (1 << 63) - 1


class Rows(Stream):
    """The rows of a query as a native stream."""

    def __init__(self, con: duckdb.DuckDBPyConnection, query: str) -> None:
        kept = []

        def fill(stream: Any) -> None:
            pointer, owner = stream_pointer(con.cursor().sql(query))
            kept.append(owner)
            size = lib.qt_stream_size()
            ffi.memmove(stream, pointer, size)
            ffi.memmove(pointer, b"\0" * size, size)

        super().__init__(fill, con)


def watched(query: str, ahead: bool = False) -> tuple[PartFacts, list[tuple[Any, ...]]]:
    """Return the summary and the rows of a query that is read through a watched stream."""
    con, reader = duckdb.connect(), duckdb.connect()
    con.execute("SET arrow_large_buffer_size = false")
    with closing(WatchedStream(Rows(con, query))) as stream:
        if ahead:
            assert stream.is_empty() == stream.is_empty()
        reader.register("incoming", stream)
        rows = reader.execute("FROM incoming").fetchall()
        reader.unregister("incoming")
        return stream.facts, rows


@pytest.mark.sampled
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("n", [1, 2047, 2048, 5000, 300_000])
def test_summary_matches_the_rows(n: int, ahead: bool) -> None:
    """The summary has the row count, the columns with values, the first and last time, and the precision."""
    query = (
        "SELECT 10 + i AS start_ns, CASE WHEN i % 3 = 0 THEN 1000 - i END AS duration_ns, i % 7 AS precision_ns,"
        f" NULL::VARCHAR AS never, CASE WHEN i = {n - 1} THEN 'x' END AS once FROM range({n}) t(i) ORDER BY (i * 7919) % {n}"
    )
    facts, rows = watched(query, ahead)
    con = duckdb.connect()
    assert sorted(map(str, rows)) == sorted(map(str, con.execute(query).fetchall()))
    first, last, precision = con.execute(
        f"SELECT min(start_ns), max(start_ns + coalesce(duration_ns, 0)), max(precision_ns) FROM ({query})"
    ).fetchall()[0]
    assert (facts.rows, facts.first_ns, facts.last_ns, facts.precision_ns) == (n, first, last, precision)
    assert facts.known == {0, 1, 2, 4}


def test_summary_without_rows_or_times_is_empty() -> None:
    """Only streams with the time columns of events have a first and last time."""
    facts, rows = watched("SELECT 1 AS start_ns, 2 AS duration_ns, 3 AS precision_ns WHERE false")
    assert (rows, facts.rows, facts.known, facts.first_ns) == ([], 0, frozenset(), NOTHING)
    facts, rows = watched("SELECT 'a' AS start_ns, 5 AS x")
    assert (rows, set(facts.known), facts.first_ns) == ([("a", 5)], {0, 1}, NOTHING)


def test_too_many_columns_are_refused() -> None:
    """The summary of a stream has one bit per column."""
    con = duckdb.connect()
    with pytest.raises(NativeFault, match="expected a readable stream of at most 64 columns"):
        WatchedStream(Rows(con, "SELECT " + ", ".join(f"{n} AS c{n}" for n in range(65))))


def test_empty_stream_is_detected_before_reading() -> None:
    """An unread stream is released."""
    con = duckdb.connect()
    for query, empty in (("SELECT 1 AS start_ns", False), ("SELECT 1 AS a WHERE false", True)):
        with closing(WatchedStream(Rows(con, query))) as stream:
            assert stream.is_empty() is empty
