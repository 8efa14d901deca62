# SPDX-License-Identifier: Apache-2.0
"""What sources have in common that DuckDB reads: lines or CSV to the columns that the native reader of rows takes."""

from collections.abc import Mapping, Sequence

import duckdb

from ..errors import InputError
from ..native.reader import Reader
from ..native.rows import open_rows
from ..schemas import sql_text

# The columns of qt_rows_source_open with their types, in its order.
COLUMNS = {
    "when_ns": "BIGINT",
    "stamp": "BIGINT",
    "precision_ns": "BIGINT",
    "duration_ns": "BIGINT",
    "thread_id": "BIGINT",
    "command": "VARCHAR",
    "user": "VARCHAR",
    "host": "VARCHAR",
    "db": "VARCHAR",
    "statement": "BLOB",
    "stmt": "BIGINT",
    "errno": "BIGINT",
    "rows_sent": "BIGINT",
    "rows_examined": "BIGINT",
    "rows_affected": "BIGINT",
    "bytes_sent": "BIGINT",
    "lock_ns": "BIGINT",
    "flags": "BIGINT",
    "place": "BIGINT",
    "error": "VARCHAR",
}
SECOND, END, START = 0, 1, 2
MEMORY_LIMIT = "1GB"  # DuckDB takes 16 times the longest line for packed files
LONGEST_LINE = 16 << 20


def lines(names: Sequence[str]) -> str:
    """Return a table expression of the files' lines: `line` and its number `place`; .gz and .zst are unpacked."""
    if "-" in names:
        names = ["/dev/stdin"]
    listed = ", ".join(sql_text(name) for name in names)
    return (
        f"(SELECT line, row_number() OVER () AS place FROM read_csv([{listed}], columns = {{'line': 'VARCHAR'}},"
        " delim = chr(1), quote = '', escape = '', header = false, auto_detect = false, parallel = false,"
        f" null_padding = true, max_line_size = {LONGEST_LINE}))"
    )


def json_lines(names: Sequence[str]) -> str:
    """Return a table expression of lines as JSON in `j`, NULL where a line is none.

    Brackets and commas of an array around them are taken off, empty lines left out.
    """
    bare = r"regexp_replace(regexp_replace(line, '^\s*\[?\s*', ''), '\s*[,\]]*\s*$', '')"
    object_ = f"CASE WHEN starts_with({bare}, '{{') AND json_valid({bare}) THEN ({bare})::JSON END"
    return f"(SELECT line, place, {object_} AS j FROM {lines(names)} WHERE {bare} <> '')"


def text(key: str) -> str:
    """Return SQL for a key of `j` as text."""
    return f"json_extract_string(j, '$.{key}')"


def number(key: str) -> str:
    """Return SQL for a key of `j` as a number."""
    return f"TRY_CAST({text(key)} AS BIGINT)"


def open_query(source: str, values: Mapping[str, str], prepare: Sequence[str] = ()) -> Reader:
    """Return a reader of `source`, an SQL table expression, with the expressions of `values` for columns by name.

    Rows come in the order of their times, those without one as problems. Raises InputError where DuckDB can't read.
    """
    listed = ", ".join(f'CAST({values.get(name, "NULL")} AS {type_}) AS "{name}"' for name, type_ in COLUMNS.items())
    con = duckdb.connect()
    try:
        con.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        con.execute("SET arrow_large_buffer_size = true")
        con.execute("SET enable_progress_bar = false")
        for statement in prepare:
            con.execute(statement)
        relation = con.sql(f"SELECT {listed} FROM {source} ORDER BY when_ns NULLS LAST, place")
        return open_rows(relation, con)
    except duckdb.Error as fault:
        raise InputError(f"the input can't be read: {str(fault).splitlines()[0]}") from fault
