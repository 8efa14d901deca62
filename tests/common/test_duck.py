# SPDX-License-Identifier: Apache-2.0
"""DuckDB connections and output files for capture, replay and report."""

import shutil
from pathlib import Path

import duckdb
import pytest
from querytape.common.duck import (
    insert_rows,
    load_sql,
    open_database,
    small_database,
    sql_text,
    write_parquet,
    write_table,
)


def setting(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return a DuckDB setting as text."""
    return str(con.execute("SELECT current_setting(?)", [name]).fetchall()[0][0])


def test_text_is_quoted_as_one_sql_literal() -> None:
    assert sql_text("it's") == "'it''s'"
    with open_database() as con:
        assert con.execute(f"SELECT {sql_text(Path('ab'))}").fetchall() == [("ab",)]


def test_database_has_the_requested_limits(tmp_path: Path) -> None:
    """Memory, spill folder, number of threads and row order are as requested. DuckDB shows no progress bar."""
    with open_database(tmp_path / "spill", "64MB", threads=1, keep_order=False, large_arrow=True) as con:
        assert setting(con, "memory_limit") == "61.0 MiB"
        assert setting(con, "temp_directory") == str(tmp_path / "spill")
        assert setting(con, "threads") == "1"
        assert setting(con, "preserve_insertion_order").lower() == "false"
        assert setting(con, "arrow_large_buffer_size").lower() == "true"
        assert setting(con, "enable_progress_bar").lower() == "false"


def test_database_without_a_spill_folder_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that needs too much memory fails. No file appears in the working folder."""
    monkeypatch.chdir(tmp_path)
    with open_database(memory="16MB") as con, pytest.raises(duckdb.OutOfMemoryException):
        con.execute("SELECT list(i::VARCHAR) FROM range(3_000_000) t(i)")
    assert not list(tmp_path.iterdir())


def test_tables_in_a_database_file_persist(tmp_path: Path) -> None:
    for create in ("CREATE TABLE t AS SELECT 7 AS x", "SELECT 1"):
        with open_database(tmp_path / "spill", file=tmp_path / "a.duckdb") as con:
            con.execute(create)
            assert con.execute("FROM t").fetchall() == [(7,)]


def test_rows_are_inserted_unchanged() -> None:
    """Rows keep their order and values. The values are numbers of every size, NULLs and arbitrary text. An empty list
    of rows leaves the table empty.
    """
    rows = [
        (2**63 - 1, 1.5, "it's", True),
        (-(2**63), None, None, False),
        (None, float("inf"), "", None),
        (0, 7.0, "ä\0{", True),
    ]
    with open_database() as con:
        con.execute("CREATE TEMP TABLE t (a BIGINT, b DOUBLE, c VARCHAR, d BOOLEAN)")
        insert_rows(con, "t", [])
        assert con.execute("FROM t").fetchall() == []
        insert_rows(con, "t", rows)
        insert_rows(con, "t", [(None, None, None, None)])
        assert con.execute("FROM t").fetchall() == [*rows, (None,) * 4]


def test_query_is_written_as_parquet(tmp_path: Path) -> None:
    """The function returns the number of rows. A query without rows writes a file only if an empty file is requested."""
    final = tmp_path / "a.parquet"
    with open_database() as con:
        assert write_parquet(con, "FROM range(5) t(x)", final) == 5
        assert con.execute(f"SELECT sum(x) FROM read_parquet({sql_text(final)})").fetchall() == [(10,)]
        assert write_parquet(con, "FROM range(0) t(x)", final) == 0
        assert not final.exists()
        assert write_parquet(con, "FROM range(0) t(x)", final, keep_empty=True) == 0
        assert con.execute(f"FROM read_parquet({sql_text(final)})").fetchall() == []


def test_query_is_written_in_other_formats(tmp_path: Path) -> None:
    """The formats are those of DuckDB's COPY statement."""
    with open_database() as con:
        assert write_table(con, "FROM range(2) t(x)", tmp_path / "a.csv", "FORMAT csv, HEADER") == 2
    assert (tmp_path / "a.csv").read_text() == "x\n0\n1\n"


def test_failed_query_leaves_no_file(tmp_path: Path) -> None:
    """The query fails after it has written some rows."""
    with open_database() as con, pytest.raises(duckdb.Error):
        write_parquet(con, "SELECT error('no') FROM range(5)", tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


def test_sql_is_loaded_from_a_package() -> None:
    """The SQL files of a package are in its folder `sql`."""
    assert "CREATE TABLE facts" in load_sql("querytape.capture", "facts.sql")


@pytest.mark.parametrize("name", ["x*y", "x?y", "[a]", "x\\y", "it's"])
def test_glob_characters_in_names_are_literal(tmp_path: Path, name: str) -> None:
    """A folder and a file whose names are glob patterns are written, read and replaced."""
    for each in (name, "xzy", "a"):
        (tmp_path / each).mkdir()
        with duckdb.connect() as con:
            write_parquet(con, f"SELECT {sql_text(each)} AS name", tmp_path / each / f"{name}.parquet")
    for _ in range(2):
        file = tmp_path / name / f"{name}.parquet"
        with duckdb.connect() as con:
            assert con.execute(f"FROM read_parquet({sql_text(file)})").fetchall() == [(name,)]
            (tmp_path / name).rename(tmp_path / "old")
            (tmp_path / name).mkdir()
            write_parquet(con, f"SELECT {sql_text(name)} AS name", file)
        shutil.rmtree(tmp_path / "old")


def test_small_database_is_shared_by_the_process(tmp_path: Path) -> None:
    """The shared database can be used after one of its connections was closed. A Parquet file that was replaced is read
    again.
    """
    file = tmp_path / "a.parquet"
    for rows in (3, 5):
        with small_database() as con:
            con.execute(f"COPY (FROM range({rows})) TO {sql_text(file)} (FORMAT parquet)")
            assert con.execute(f"SELECT num_rows FROM parquet_file_metadata({sql_text(file)})").fetchall() == [(rows,)]
            assert con.execute(f"SELECT count(*) FROM {sql_text(file)}").fetchall() == [(rows,)]
    assert small_database() is not small_database()
