# SPDX-License-Identifier: Apache-2.0
"""Rows of Python into a table of DuckDB, all at once."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow


def insert_rows(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows of a table's columns in their order.

    As a table of Arrow: `executemany` takes a millisecond for each row. It takes what Arrow has no type for: a column
    of several types, and numbers beyond 64 bits.
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
