# SPDX-License-Identifier: Apache-2.0
"""Parquet files that are written natively: DuckDB reads what was given, whatever it is."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.parsers import open_slowlog
from querytape.native.bindings.part_writer import PartWriter
from querytape.native.bindings.streams import stream_pointer
from querytape.schemas import columns

from tests.helpers.logs import write_mariadb

ROWS = 270_000  # more than two row groups
# Name -> SQL of a value for row `i`, a pseudo-random number `r` beside it.
SHAPES = {
    "constant": "7::BIGINT",
    "nothing": "NULL::BIGINT",
    "no_text": "NULL::VARCHAR",
    "growing": "(i * 1000 + r % 7)::BIGINT",
    "few": "(r % 5)::BIGINT - 2",
    "many": "r::BIGINT * CASE WHEN i % 2 = 0 THEN 1 ELSE -1 END",
    "extremes": "CASE i % 3 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 ELSE 0 END::BIGINT",
    "small": "(r % 100000)::INTEGER - 50000",
    "few_small": "(i // 1000 % 3)::INTEGER",
    "often_null": "CASE WHEN r % 3 = 0 THEN r::BIGINT END",
    "runs_of_null": "CASE WHEN i // 5000 % 2 = 0 THEN i END",
    "one_value": "CASE WHEN i = 200000 THEN 42 END::BIGINT",
    "truth": "r % 2 = 0",
    "rare_truth": "CASE WHEN r % 5 > 0 THEN r % 7 = 0 END",
    "word": "['read', 'write', 'ddl', ''][1 + (r % 4)::INTEGER]",
    "word_or_null": "CASE WHEN r % 4 > 0 THEN 'w' || r % 300 END",
    "different": "'SELECT ' || r || repeat('x', (r % 50)::INTEGER)",
    "often_different": "CASE WHEN r % 3 > 0 THEN 'a' || r END",
    "at_first_few": "CASE WHEN i < 60000 THEN 'x' ELSE 'y' || r END",
    "bytes": "CASE WHEN r % 9 > 0 THEN ('b' || chr(0) || r % 40)::BLOB END",
    "large": "CASE WHEN i % 60000 = 5 THEN repeat('z' || i, 400000) ELSE 'é' END",
}


class Rows:
    """A relation as a native stream."""

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    def open(self) -> Any:
        """Return the `ArrowArrayStream *`."""
        pointer, self._kept = stream_pointer(self._relation)
        return pointer


def written(con: duckdb.DuckDBPyConnection, query: str, path: Path) -> Any:
    """Write a query's rows; return what the writer says."""
    return PartWriter().write(Rows(con.sql(query)), path)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_values_comes_back(shape: str, tmp_path: Path) -> None:
    """Constant, rare, all different, NULL in any pattern, large, of every type: the rows of the file are the same."""
    con, path = duckdb.connect(), tmp_path / "x.parquet"
    con.execute(
        f"CREATE TABLE rows AS SELECT i, {SHAPES[shape]} AS v FROM (SELECT i, hash(i) >> 4 AS r FROM range({ROWS}) t(i))"
    )
    part = written(con, "SELECT i, v FROM rows ORDER BY i", path)
    assert part.rows == ROWS
    assert part.known == ({0} if shape in ("nothing", "no_text") else {0, 1})
    con.execute(f"CREATE VIEW file AS FROM '{path}'")
    assert con.execute("DESCRIBE file").fetchall() == con.execute("DESCRIBE rows").fetchall()
    different = "SELECT count(*) FROM rows r JOIN file f USING (i) WHERE f.v IS DISTINCT FROM r.v"
    assert con.execute(different).fetchall() == [(0,)]
    assert (
        con.execute("SELECT count(DISTINCT i), count(v) FROM file").fetchall()
        == con.execute("SELECT count(DISTINCT i), count(v) FROM rows").fetchall()
    )
    assert con.execute(f"SELECT sum(row_group_num_rows) FROM parquet_metadata('{path}')").fetchall() == [(2 * ROWS,)]


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in ("nothing", "no_text", "bytes", "large")])
def test_ranges_in_the_footer_hold(shape: str, tmp_path: Path) -> None:
    """Least and most of each row group, by which readers leave groups out, are those of its values."""
    con, path = duckdb.connect(), tmp_path / "x.parquet"
    query = f"SELECT {SHAPES[shape]} AS v FROM (SELECT i, hash(i) >> 4 AS r FROM range({ROWS}) t(i)) ORDER BY i"
    written(con, query, path)
    type_ = con.execute(f"SELECT typeof(v) FROM '{path}' LIMIT 1").fetchall()[0][0]
    groups = con.execute(
        "SELECT row_group_num_rows, stats_null_count, stats_min_value, stats_max_value"
        f" FROM parquet_metadata('{path}') ORDER BY row_group_id"
    ).fetchall()
    first, found = 0, 0
    for rows, nulls, least, most in groups:
        inside = (
            f"SELECT count(*) - count(v), min(v), max(v) FROM read_parquet('{path}', file_row_number = true)"
            f" WHERE file_row_number >= {first} AND file_row_number < {first + rows}"
        )
        expected = con.execute(inside).fetchall()[0]
        assert nulls == expected[0]
        if least is not None:
            cast = con.execute(f"SELECT ?::{type_}, ?::{type_}", [least, most]).fetchall()[0]
            assert cast == expected[1:]
            found += 1
        first += rows
    assert first == ROWS
    assert found > 0 or shape in ("truth", "rare_truth", "different", "often_different", "at_first_few", "one_value")


def test_events_keep_the_columns_of_a_tape(tmp_path: Path) -> None:
    """A part has the columns of schemas/tape.sql with their types, in their order."""
    reader = open_slowlog([write_mariadb(tmp_path / "s.log", [(1718000000, 1, 0.001, "SELECT 1")])])
    stream = reader.part(10, 1000)
    PartWriter().write(stream, tmp_path / "x.parquet")
    stream.close()
    reader.close()
    described = duckdb.execute(f"DESCRIBE FROM '{tmp_path}/x.parquet'").fetchall()
    assert [(row[0], row[1]) for row in described] == list(columns("tape", "events"))


def test_memory_is_used_again(tmp_path: Path) -> None:
    """One writer writes files of different columns one after the other; without a row it writes none."""
    con, writer = duckdb.connect(), PartWriter()
    for n, query in enumerate(("SELECT 1::BIGINT AS a", "SELECT 'x' AS b, 2 AS c", "SELECT 3 AS d WHERE false")):
        writer.write(Rows(con.sql(query)), tmp_path / f"{n}.parquet")  # type: ignore[arg-type]
    assert con.execute(f"FROM '{tmp_path}/0.parquet'").fetchall() == [(1,)]
    assert con.execute(f"FROM '{tmp_path}/1.parquet'").fetchall() == [("x", 2)]
    assert not (tmp_path / "2.parquet").exists()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A folder that is not there, a full disk, a type that no tape has: an error that names it, and the next file works."""
    con, writer = duckdb.connect(), PartWriter()
    for query, path, words in (
        ("SELECT 1::BIGINT AS a", tmp_path / "none" / "x", "none/x: cannot be written: No such file"),
        ("SELECT i FROM range(1000000) t(i)", Path("/dev/full"), "No space left on device"),
        ("SELECT 1.5::DOUBLE AS a", tmp_path / "x", "column a: Arrow format g"),
    ):
        with pytest.raises(NativeFault, match=words):
            writer.write(Rows(con.sql(query)), path)  # type: ignore[arg-type]
    assert writer.write(Rows(con.sql("SELECT 1::BIGINT AS a")), tmp_path / "y").rows == 1  # type: ignore[arg-type]
