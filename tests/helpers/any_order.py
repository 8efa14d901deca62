# SPDX-License-Identifier: Apache-2.0
"""Let DuckDB answer in other permitted ways: other numbers of threads, no optimizer, shuffled rows.

SQL promises no order of rows except by ORDER BY. Under a variant, every table is shuffled after each statement that fills it, and
`shuffle_files` shuffles the rows inside each Parquet file. An answer that changes depends on an order that nobody promised.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
from querytape.common import duck
from querytape.common.duck import sql_text
from querytape.common.files import file_entry

from .duck import database

FILLED = re.compile(
    r"(?:\s|--[^\n]*\n)*(?:CREATE (?:OR REPLACE )?(?:TEMP )?TABLE|INSERT INTO) ([\w.\"]+)(?: AS\b| \(|\s+(?:SELECT|FROM|BY NAME)\b)"
)
THREADS = re.compile(r"(?:SET|RESET) threads\b")


@dataclass(frozen=True)
class Variant:
    """How DuckDB answers: how many threads it has, whether it optimizes, by which seed rows are shuffled."""

    threads: int
    optimizes: bool
    seed: int

    def __str__(self) -> str:
        """Return the variant as the name of a test has it."""
        return f"{self.threads}-{'optimized' if self.optimizes else 'plain'}-{self.seed}"


VARIANTS = [Variant(1, True, 1), Variant(2, False, 2), Variant(7, True, 3)]


class ShufflingDuckDB:
    """The module duckdb, whose databases answer as a variant says."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    def __getattr__(self, name: str) -> Any:
        return getattr(duckdb, name)

    def connect(self, path: str) -> "ShufflingConnection":
        """Open a database."""
        con = duckdb.connect(path)
        con.execute(f"SET threads = {self._variant.threads}")
        if not self._variant.optimizes:
            con.execute("PRAGMA disable_optimizer")
        return ShufflingConnection(con, self._variant)


class ShufflingConnection:
    """A connection to DuckDB that shuffles each table that a statement has filled."""

    def __init__(self, con: duckdb.DuckDBPyConnection, variant: Variant) -> None:
        self._con, self._variant = con, variant

    def __getattr__(self, name: str) -> Any:
        return getattr(self._con, name)

    def __enter__(self) -> "ShufflingConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self._con.close()

    def cursor(self) -> "ShufflingConnection":
        """Return another connection to the same database."""
        return ShufflingConnection(self._con.cursor(), self._variant)

    def execute(self, query: Any, *values: Any) -> Any:
        """Execute statements, and shuffle the table that each of them filled."""
        done: Any = self
        for statement in [query] if values or not isinstance(query, str) else self._con.extract_statements(query):
            text = query if statement is query else statement.query
            if isinstance(text, str) and THREADS.match(text.strip()):
                continue
            done = self._con.execute(statement, *values)
            if isinstance(text, str) and (filled := FILLED.match(text.strip())):
                self._shuffle(filled[1])
        return done

    def _shuffle(self, table: str) -> None:
        try:
            self._con.execute(f"CREATE OR REPLACE TEMP TABLE shuffled_rows AS {shuffled(table, self._variant.seed)}")
        except duckdb.CatalogException:  # it was dropped again, or is a view by now
            return
        self._con.execute(f"DELETE FROM {table}; INSERT INTO {table} FROM shuffled_rows; DROP TABLE shuffled_rows")


def shuffled(source: str, seed: int) -> str:
    """Return a query of a table's rows in an order that its seed decides."""
    return f"SELECT * FROM {source} ORDER BY hash(rowid + {seed * 1_000_003})"


def shuffle_files(folder: Path, variant: Variant) -> None:
    """Write each Parquet file below a folder again, its rows in another order; a tape's list of parts knows the new sizes."""
    with database() as con:
        for file in sorted(folder.rglob("*.parquet")):
            con.execute(f"CREATE OR REPLACE TABLE file AS FROM read_parquet({sql_text(file)})")
            con.execute(f"COPY ({shuffled('file', variant.seed)}) TO {sql_text(file)} (FORMAT parquet)")
    for info_file in sorted(folder.rglob("tape.json")):
        info = json.loads(info_file.read_text(encoding="utf-8"))
        for part in info["parts"]:
            part |= file_entry(info_file.parent, info_file.parent / part["file"], part["rows"])
        info_file.write_text(json.dumps(info), encoding="utf-8")


@contextmanager
def answering(variant: Variant) -> Iterator[None]:
    """Let every database that is opened meanwhile answer as the variant says."""
    duck._small.cache_clear()
    with mock.patch.object(duck, "duckdb", ShufflingDuckDB(variant)):
        yield
    duck._small.cache_clear()
