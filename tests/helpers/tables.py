# SPDX-License-Identifier: Apache-2.0
"""Fill DuckDB tables from Python rows in one step."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow
from querytape.schemas import columns, select_list


def insert_rows(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows. Values are in the order of the table's columns.

    The rows go through an Arrow table, because `executemany` takes a millisecond per row. Values without an Arrow type
    work as well: columns of mixed types, and integers beyond 64 bits.
    """
    if not rows:
        return
    try:
        arrays = [pyarrow.array(values) for values in zip(*rows, strict=True)]
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
        con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return
    con.register("inserted", pyarrow.table(arrays, [f"c{number}" for number in range(len(arrays))]))
    con.execute(f"INSERT INTO {table} FROM inserted")
    con.unregister("inserted")


def fill(con: duckdb.DuckDBPyConnection, kind: str, table: str, rows: Sequence[Mapping[str, Any]] | str) -> None:
    """Create a table of a tape or run from rows, or from a SELECT that names its columns. Missing columns are NULL."""
    if isinstance(rows, str):
        have = {row[0] for row in con.execute(f"DESCRIBE {rows}").fetchall()}
        con.execute(f"CREATE TEMP TABLE {table} AS SELECT {select_list(kind, table, have)} FROM ({rows})")
        return
    listed = ", ".join(f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in columns(kind, table))
    con.execute(f"CREATE TEMP TABLE {table} AS SELECT {listed} WHERE false")
    insert_rows(con, table, [[row.get(name) for name, _ in columns(kind, table)] for row in rows])
