# SPDX-License-Identifier: Apache-2.0
"""Check the Parquet files of tapes and runs against their SQL declarations. Usually the check reads only the footers.

A column is read only if the footer of its file lacks required statistics.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import duck_path, small_database, sql_text
from ..common.errors import FolderError
from ..common.files import open_regular
from ..common.units import plural
from .tables import Column, declared

TAIL = 8  # bytes of the footer length and of the magic PAR1
WIDTHS = {"TINYINT": 1, "SMALLINT": 2, "INTEGER": 4, "BIGINT": 8}


def check_parquet(
    kind: str, table: str, files: Sequence[Path], con: duckdb.DuckDBPyConnection | None = None
) -> dict[Path, int]:
    """Check the files of one table like `check_tables`, and return the number of rows of each file."""
    return check_tables(kind, {table: files}, con)


def check_tables(
    kind: str, tables: Mapping[str, Sequence[Path]], con: duckdb.DuckDBPyConnection | None = None
) -> dict[Path, int]:
    """Check the files of several tables and return the number of rows of each file.

    Raises FolderError with file and column for the first fault. Faults are a missing column, a wrong type, a forbidden
    NULL, and a number out of range. `tables`: files by table. All footers are read at once. `con`: database connection
    to use. None means the shared connection of this process.
    """
    files = [file for each in tables.values() for file in each]
    if not files:
        return {}
    for file in files:
        _check_frame(file)
    con = con if con is not None else small_database()
    found = _footers(con, {duck_path(file): file for file in files})
    for table, of_table in tables.items():
        names = {duck_path(file): file for file in of_table}
        for name, file in names.items():
            _check_columns(kind, table, file, found.types[name])
        for column in declared(kind, table):
            if column.not_null or column.limits is not None:
                _check_values(con, column, names, found)
    return {file: found.rows[duck_path(file)] for file in files}


class _Footers:
    """The content of footers: rows by file, types {file: {column: type}}, and stats {column: [(file, rows, ...)]}."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.types: dict[str, dict[str, str]] = {}
        self.stats: dict[str, list[tuple[Any, ...]]] = {}


def _check_frame(file: Path) -> None:
    """Raise FolderError if a file is not regular or lacks the start or end of a Parquet file."""
    with open_regular(file, FolderError) as handle:
        head = handle.read(4)
        handle.seek(0, 2)
        size = handle.tell()
        handle.seek(max(size - TAIL, 0))
        tail = handle.read(TAIL)
    if head != b"PAR1":
        raise FolderError(f"{file}: the file is damaged: it does not begin like a Parquet file")
    if len(tail) < TAIL or tail[4:] != b"PAR1" or int.from_bytes(tail[:4], "little") > size - TAIL - 4:
        raise FolderError(f"{file}: the file is damaged: its end is missing after {plural(size, 'byte')}")


def _footers(con: duckdb.DuckDBPyConnection, names: dict[str, Path]) -> _Footers:
    try:
        return _read_footers(con, list(names))
    except (duckdb.Error, ValueError, OverflowError):
        for name, file in names.items():
            try:
                _read_footers(con, [name])
            except (duckdb.Error, ValueError, OverflowError) as error:
                raise FolderError(f"{file}: the file is damaged: its Parquet footer cannot be read") from error
        raise


def _read_footers(con: duckdb.DuckDBPyConnection, names: list[str]) -> _Footers:
    footers = _Footers()
    listed = "[" + ", ".join(sql_text(name) for name in names) + "]"
    for name, rows in con.execute(f"SELECT file_name, num_rows FROM parquet_file_metadata({listed})").fetchall():
        footers.rows[name] = int(rows)
        footers.types[name] = {}
    schema = (
        f"SELECT file_name, name, duckdb_type, num_children FROM parquet_schema({listed}) ORDER BY file_name, column_id"
    )
    inner: dict[str, int] = {}
    for name, column, type_, children in con.execute(schema).fetchall():
        if name not in inner:  # the first row is the root of the schema
            inner[name] = 0
        elif inner[name]:
            inner[name] += (children or 0) - 1
        else:
            footers.types[name][column] = str(type_)
            inner[name] = children or 0
    query = (
        "SELECT path_in_schema, file_name, row_group_num_rows, try_cast(stats_null_count AS BIGINT),"
        f" stats_min_value, stats_max_value FROM parquet_metadata({listed}) WHERE row_group_num_rows > 0"
    )
    for column, *values in con.execute(query).fetchall():
        footers.stats.setdefault(column, []).append(tuple(values))
    return footers


def _check_columns(kind: str, table: str, file: Path, types: dict[str, str]) -> None:
    for column in declared(kind, table):
        have = types.get(column.name)
        if have is None:
            raise FolderError(f"{file}: column {column.name} is missing")
        if have == '"NULL"' and not column.not_null:
            continue  # the column contains only NULL
        if have != column.type and not WIDTHS.get(have, 9) <= WIDTHS.get(column.type, 0):
            raise FolderError(f"{file}: column {column.name}: expected {column.type}, found {have}")


def _check_values(con: duckdb.DuckDBPyConnection, column: Column, names: dict[str, Path], footers: _Footers) -> None:
    """Raise FolderError if a column has a forbidden NULL or a number out of range."""
    for name, rows, nulls, least, most in footers.stats.get(column.name, []):
        if name not in names:  # the column belongs to another table and has the same name
            continue
        if nulls is None or (column.limits is not None and nulls != rows and (least is None or most is None)):
            nulls, least, most = _read_values(con, column, name, names[name])
        if column.not_null and nulls:
            raise FolderError(f"{names[name]}: column {column.name} contains NULL, which is not allowed")
        if column.limits is None or least is None:
            continue
        low, high = column.limits
        for value in (int(least), int(most)):
            if not low <= value <= high:
                raise FolderError(f"{names[name]}: column {column.name}: expected {low} to {high}, found {value}")


def _read_values(
    con: duckdb.DuckDBPyConnection, column: Column, name: str, file: Path
) -> tuple[int, int | None, int | None]:
    """Return the number of NULLs in a column of a file, and its minimum and maximum."""
    value = f'"{column.name}"'
    numbers = f"min({value}), max({value})" if column.limits is not None else "NULL, NULL"
    try:
        row = con.execute(f"SELECT count(*) - count({value}), {numbers} FROM read_parquet({sql_text(name)})").fetchall()
    except duckdb.Error as error:
        raise FolderError(f"{file}: the file is damaged: column {column.name} cannot be read") from error
    nulls, least, most = row[0]
    return int(nulls), least, most
