# SPDX-License-Identifier: Apache-2.0
"""Streams made in C: DuckDB asks for one several times and reads it once; one that is not read is released."""

from pathlib import Path

import duckdb
from querytape.native.bindings.parsers import open_slowlog
from querytape.native.bindings.streams import Stream, stream_pointer

LOG = b"# Time: 2026-11-20T15:21:05.000000Z\n# User@Host: a[a] @ h []  Id:     7\n# Query_time: 0.1  Lock_time: 0\nSELECT 1;\n"


def opened(path: str) -> Stream:
    """Return the stream of a part of a log."""
    return open_slowlog([path]).part(100, 1 << 20)


def test_duckdb_reads_it_in_place_of_a_table(tmp_path: Path) -> None:
    """The columns are those of the tape; each row comes once."""
    (tmp_path / "slow.log").write_bytes(LOG * 3)
    stream = opened(str(tmp_path / "slow.log"))
    with duckdb.connect() as con:
        con.register("part", stream)
        assert con.execute("SELECT count(*), min(statement::VARCHAR) FROM part").fetchall() == [(3, "SELECT 1")]
        con.unregister("part")
    stream.close()


def test_one_that_is_not_read_is_released(tmp_path: Path) -> None:
    """Several capsules of it can be asked for; closing releases them all, once."""
    (tmp_path / "slow.log").write_bytes(LOG)
    stream = opened(str(tmp_path / "slow.log"))
    assert stream.__arrow_c_stream__() is not stream.__arrow_c_stream__()
    stream.close()
    stream.close()


def test_the_pointer_of_anything_with_the_protocol() -> None:
    """What C reads may come of DuckDB itself; the capsule keeps it alive."""
    with duckdb.connect() as con:
        _, keeps = stream_pointer(con.sql("SELECT 1 AS a"))
        assert keeps is not None
