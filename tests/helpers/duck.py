# SPDX-License-Identifier: Apache-2.0
"""Databases for tests: to open one of DuckDB takes 25 ms of processor, which many tests would pay several times."""

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
    """The one of a process: what is forked has to open its own. A test may write a file again that was read before."""
    return duckdb.connect(config={"enable_external_file_cache": False})


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection to an empty database in memory. It shares the settings (SET) of all others of this process."""
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
