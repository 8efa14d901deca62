# SPDX-License-Identifier: Apache-2.0
"""Streams created in C. DuckDB requests a stream several times and reads it once. An unread stream is released."""

from pathlib import Path

import duckdb
from querytape.native.bindings.parsers import open_slowlog
from querytape.native.bindings.streams import Stream, stream_pointer

LOG = b"# Time: 2026-11-20T15:21:05.000000Z\n# User@Host: a[a] @ h []  Id:     7\n# Query_time: 0.1  Lock_time: 0\nSELECT 1;\n"


def opened(path: str) -> Stream:
    """Return the stream of one part of a log."""
    return open_slowlog([path]).part(100, 1 << 20)


def test_duckdb_reads_a_stream_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "slow.log").write_bytes(LOG * 3)
    stream = opened(str(tmp_path / "slow.log"))
    with duckdb.connect() as con:
        con.register("part", stream)
        assert con.execute("SELECT count(*), min(statement::VARCHAR) FROM part").fetchall() == [(3, "SELECT 1")]
        con.unregister("part")
    stream.close()


def test_unread_stream_is_released_once(tmp_path: Path) -> None:
    """Several capsules of one stream may be requested. Closing the stream releases all capsules."""
    (tmp_path / "slow.log").write_bytes(LOG)
    stream = opened(str(tmp_path / "slow.log"))
    assert stream.__arrow_c_stream__() is not stream.__arrow_c_stream__()
    stream.close()
    stream.close()


def test_duckdb_result_can_be_passed_to_c() -> None:
    """The capsule of a DuckDB result keeps the stream alive."""
    with duckdb.connect() as con:
        _, keeps = stream_pointer(con.sql("SELECT 1 AS a"))
        assert keeps is not None
