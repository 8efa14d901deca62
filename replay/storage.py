# SPDX-License-Identifier: Apache-2.0
"""DuckDB as the replay uses it: bounded memory, one thread, spilling into the run's own folder."""

from importlib.resources import files
from pathlib import Path

import duckdb

from ..schemas import publish, sql_text

MEMORY_LIMIT = "256MB"


def open_storage(spill: Path, memory_limit: str = MEMORY_LIMIT) -> duckdb.DuckDBPyConnection:
    """Return a database of its own for one thread of ours.

    One DuckDB thread, so that sorting the plan does not disturb the timing; 64-bit offsets for statements in Arrow.
    """
    con = duckdb.connect()
    con.execute(f"SET memory_limit = {sql_text(memory_limit)}")
    con.execute(f"SET temp_directory = {sql_text(spill)}")
    con.execute("SET threads = 1")
    con.execute("SET arrow_large_buffer_size = true")
    con.execute("SET enable_progress_bar = false")
    return con


def question(name: str) -> str:
    """Return the text of one SQL file of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def write_parquet(con: duckdb.DuckDBPyConnection, query: str, final: Path) -> int:
    """Write a query as one Parquet file, whole or not at all, and return its rows; an empty one leaves no file."""
    with publish(final) as temporary:
        found = con.execute(f"COPY ({query}) TO {sql_text(temporary)} (FORMAT parquet, COMPRESSION zstd)").fetchall()
    rows = int(found[0][0])
    if rows == 0:
        final.unlink()
    return rows
