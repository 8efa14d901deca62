# SPDX-License-Identifier: Apache-2.0
"""DuckDB as every stage uses it: databases with bounded memory, SQL from files, tables written whole or not at all."""

import functools
import os
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import duckdb

from .errors import InputError
from .files import is_utf8, publish

# DuckDB takes these in a file's name for a pattern; a backslash for the separator of another system.
_PATTERN = re.compile(r"[*?\[\\]")
_handles: dict[str, int] = {}  # folders and files whose names are patterns, opened until the process ends


def sql_text(value: str | Path) -> str:
    """Return a text, or a file's path as DuckDB can open it, quoted as an SQL string literal.

    Raises InputError where it is not UTF-8, as a file's name may be: DuckDB takes no other text.
    """
    if not is_utf8(str(value)):
        raise InputError(f"{ascii(str(value))[1:-1]}: the path is not valid UTF-8: rename the file or folder")
    text = duck_path(value) if isinstance(value, Path) else value
    return "'" + text.replace("'", "''") + "'"


def sql_files(files: Iterable[Path]) -> str:
    """Return the paths of files as an SQL list."""
    return "[" + ", ".join(sql_text(file) for file in files) + "]"


def duck_path(path: Path) -> str:
    """Return a name under which DuckDB opens exactly this file: its path, unless that would be taken for a pattern.

    The last folder (or file) whose name is a pattern is then named by a handle, /proc/self/fd/N, kept for the process.
    """
    text = str(path)
    if not _PATTERN.search(text):
        return text
    parts = path.parts
    last = max(place for place, part in enumerate(parts) if _PATTERN.search(part))
    return "/".join([_handle_of(Path(*parts[: last + 1])), *parts[last + 1 :]])


def _handle_of(path: Path) -> str:
    """Return /proc/self/fd/N of a folder or file that exists."""
    key = str(path.absolute())
    handle = _handles.get(key)
    try:
        if handle is not None and not os.path.samestat(os.fstat(handle), path.stat()):
            os.close(_handles.pop(key))
            handle = None
        if handle is None:
            handle = _handles[key] = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    return f"/proc/self/fd/{handle}"


def plain_reason(error: Exception) -> str:
    """Return why DuckDB failed, in words of ours; its own text speaks of what a user has never seen."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return "not enough memory or disk space"
    if isinstance(error, duckdb.IOException) and "No space left" in str(error):
        return "the disk is full"
    named = re.search(r"[^\s'\"]+\.parquet", str(error))
    file = f" ({named[0]})" if named and not named[0].startswith("/proc/") else ""
    return f"a file is damaged or unreadable{file}"


def load_sql(package: str, name: str) -> str:
    """Return the text of one file of a package's folder `sql`, by its path inside that folder."""
    return (files(package) / "sql" / name).read_text(encoding="utf-8")


def open_database(
    spill: Path | None = None,
    memory: str | None = "256MB",
    *,
    file: Path | None = None,
    threads: int | None = None,
    keep_order: bool = True,
    large_arrow: bool = False,
) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection that takes at most `memory` and spills into the folder `spill` (None: nowhere).

    `memory`: None = DuckDB's own bound, four fifths of the machine's. `file`: where tables are kept (None: in memory).
    `threads`: None = one for each core. `keep_order`: results come in the order of their input. `large_arrow`: Arrow
    streams have 64-bit offsets, as long statements need.
    """
    con = duckdb.connect(str(file) if file else ":memory:")
    con.execute(
        f"SET temp_directory = {sql_text(spill or '')};"
        f"SET preserve_insertion_order = {str(keep_order).lower()};"
        f"SET arrow_large_buffer_size = {str(large_arrow).lower()};"
        "SET enable_progress_bar = false"
    )
    if memory is not None:
        con.execute(f"SET memory_limit = {sql_text(memory)}")
    if threads is not None:
        con.execute(f"SET threads = {threads}")
    return con


def small_database() -> duckdb.DuckDBPyConnection:
    """Return a connection to this process's own small database: to read footers and a few rows. No tables, no settings.

    A database takes some 15 ms of processor to open, a connection to one that is open next to none. It spills nowhere.
    """
    return _small().cursor()


@functools.cache
def _small() -> duckdb.DuckDBPyConnection:
    return open_database()


def write_table(
    con: duckdb.DuckDBPyConnection, query: str, final: Path, options: str, values: Sequence[object] = ()
) -> int:
    """Write a query's rows as one file, whole or not at all; return how many.

    `options` are those of DuckDB's COPY, `values` those of the query's question marks.
    """
    with publish(final) as temporary:
        copy = f"COPY ({query}) TO {sql_text(temporary)} ({options}, USE_TMP_FILE false)"
        counted = con.execute(copy, list(values)).fetchall()
    return int(counted[0][0])


def write_parquet(
    con: duckdb.DuckDBPyConnection,
    query: str,
    final: Path,
    options: str = "COMPRESSION zstd",
    *,
    keep_empty: bool = False,
) -> int:
    """Write a query's rows as one Parquet file, whole or not at all; return how many.

    No rows leave no file, unless `keep_empty`.
    """
    rows = write_table(con, query, final, f"FORMAT parquet, {options}")
    if rows == 0 and not keep_empty:
        final.unlink()
    return rows


def insert_rows(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows of texts and numbers into a table.

    They go as one list a column: executemany takes 0.2 ms of processor for each row, this 2 us.
    """
    if rows:
        types = [type_ for _, type_, *_ in con.execute(f"DESCRIBE {table}").fetchall()]
        lists = ", ".join(f"unnest(?::{type_}[])" for type_ in types)
        con.execute(f"INSERT INTO {table} SELECT {lists}", [list(values) for values in zip(*rows, strict=True)])


def write_rows(
    con: duckdb.DuckDBPyConnection,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[object]],
    final: Path,
) -> int:
    """Write rows of texts and numbers as one Parquet file with these (name, type) columns; return how many.

    They go to DuckDB as one list a column, as in `insert_rows`. No rows leave no file.
    """
    values = [list(column) for column in zip(*rows, strict=True)]
    if not values:
        return 0
    lists = ", ".join(f'unnest(?::{type_}[]) AS "{name}"' for name, type_ in columns)
    return write_table(con, f"SELECT {lists}", final, "FORMAT parquet, COMPRESSION zstd", values)
