# SPDX-License-Identifier: Apache-2.0
"""The columns of tape and run, read from the SQL that defines them."""

from functools import cache
from importlib.resources import files

import duckdb

FORMAT_VERSION = 1


def ddl(kind: str) -> str:
    """Return the SQL text of `tape` or `run`, comments and all."""
    return (files(__package__) / f"{kind}.sql").read_text(encoding="utf-8")


@cache
def columns(kind: str, table: str) -> tuple[tuple[str, str], ...]:
    """Return (name, DuckDB type) of each column of a table of `tape` or `run`, in order."""
    with duckdb.connect() as con:
        con.execute(ddl(kind))
        rows = con.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index",
            [table],
        ).fetchall()
    if not rows:
        raise KeyError(f"{kind}.sql defines no table {table!r}")
    return tuple((str(name), str(type_)) for name, type_ in rows)


def select_list(kind: str, table: str, have: set[str]) -> str:
    """Return a SELECT list giving every column of a table in order: cast where the input has it, NULL where not."""
    parts = []
    for name, type_ in columns(kind, table):
        value = f'"{name}"' if name in have else "NULL"
        parts.append(f'CAST({value} AS {type_}) AS "{name}"')
    return ", ".join(parts)
