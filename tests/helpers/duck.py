# SPDX-License-Identifier: Apache-2.0
"""DuckDB databases for tests.

Opening a database takes 25 ms of CPU time, so all tests of a process share one database.
"""

import functools
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

_numbers = itertools.count(1)


@functools.cache
def _shared(process: int) -> duckdb.DuckDBPyConnection:
    """Return the shared DuckDB database of a process. A forked process must open its own database. File caching is
    disabled, because tests rewrite files.
    """
    return duckdb.connect(config={"enable_external_file_cache": False})


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to an empty in-memory database. All connections of this process share their settings (SET)."""
    name = f"of_test_{next(_numbers)}"
    with _shared(os.getpid()).cursor() as con:
        con.execute(f"ATTACH ':memory:' AS {name}; USE {name}")
        try:
            yield con
        finally:
            con.execute(f"USE memory; DETACH {name}")


def query(sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with database() as con:
        return con.execute(sql).fetchall()
