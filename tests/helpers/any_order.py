# SPDX-License-Identifier: Apache-2.0
"""Run DuckDB in other permitted configurations: different thread counts, no optimizer, shuffled rows.

SQL guarantees an order of rows only with ORDER BY. A variant shuffles every table after each statement that fills the
table. `shuffle_files` shuffles the rows inside each Parquet file. A result that changes depends on an order that SQL
does not guarantee.
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
    """A DuckDB configuration: the number of threads, the optimizer switch, and the seed for shuffling rows."""

    threads: int
    optimizes: bool
    seed: int

    def __str__(self) -> str:
        """Return the name of the variant for test names."""
        return f"{self.threads}-{'optimized' if self.optimizes else 'plain'}-{self.seed}"


VARIANTS = [Variant(1, True, 1), Variant(2, False, 2), Variant(7, True, 3)]


class ShufflingDuckDB:
    """A replacement for the module `duckdb` whose databases follow a variant."""

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
    """A DuckDB connection that shuffles each table after a statement has filled the table."""

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
        """Execute statements, and shuffle each table that a statement filled."""
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
        except duckdb.CatalogException:  # the table was dropped again, or is a view
            return
        self._con.execute(f"DELETE FROM {table}; INSERT INTO {table} FROM shuffled_rows; DROP TABLE shuffled_rows")


def shuffled(source: str, seed: int) -> str:
    """Return a query for the rows of a table in an order that depends on the seed."""
    return f"SELECT * FROM {source} ORDER BY hash(rowid + {seed * 1_000_003})"


def shuffle_files(folder: Path, variant: Variant) -> None:
    """Rewrite each Parquet file below a folder with shuffled rows, and update the file sizes in tape.json."""
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
    """Apply the variant to every database that is opened inside the block."""
    duck._small.cache_clear()
    with mock.patch.object(duck, "duckdb", ShufflingDuckDB(variant)):
        yield
    duck._small.cache_clear()
