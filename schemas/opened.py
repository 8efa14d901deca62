# SPDX-License-Identifier: Apache-2.0
"""Opens tapes and runs for Python programs: their tables as DuckDB relations, which other libraries read as Arrow."""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import open_database
from .folders import TABLES, Folder
from .opening import open_folder

AnyPath = str | PathLike[str]


@dataclass(frozen=True)
class _Opened:
    """A tape's or run's folder. It can be given wherever a path can."""

    folder: Folder

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.folder.path

    @property
    def info(self) -> dict[str, Any]:
        """What its JSON file says: docs/format.md describes it."""
        return self.folder.info

    def __fspath__(self) -> str:
        return fspath(self.folder.path)

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return one table, by its name in schemas/tape.sql or run.sql. Raises KeyError for another name.

        Nothing is read until the relation is; it has `.arrow()`, `.df()`, `.pl()` and `__arrow_c_stream__`.
        """
        if name not in TABLES[self.folder.kind]:
            raise KeyError(
                f"a {self.folder.kind} has no table {name!r}: expected one of {', '.join(TABLES[self.folder.kind])}"
            )
        return open_database(memory=None).sql(f"FROM {self.folder.source(name)}")

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return a query's rows; all tables are there by their names. Raises duckdb.Error."""
        con = open_database(memory=None)
        for name in TABLES[self.folder.kind]:
            con.execute(f'CREATE TEMP VIEW "{name}" AS FROM {self.folder.source(name)}')
        return con.sql(query)


class Tape(_Opened):
    """Recorded traffic."""

    def events(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each command of a client."""
        return self.table("events")

    def sessions(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each original connection."""
        return self.table("sessions")

    def digests(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each normalised statement."""
        return self.table("digests")

    def problems(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each place of the source that was not understood."""
        return self.table("problems")


class Run(_Opened):
    """One replay of a tape."""

    def outcomes(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each event of the tape: whether and when it was sent, and what came back."""
        return self.table("outcomes")

    def sessions(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each session that was opened, or should have been."""
        return self.table("sessions")

    def ticks(self) -> duckdb.DuckDBPyRelation:
        """Return one row for each second of the run."""
        return self.table("ticks")

    def samples(self) -> duckdb.DuckDBPyRelation:
        """Return the counters of the target and of this machine; a value is kept when it changed."""
        return self.table("samples")

    def texts(self) -> duckdb.DuckDBPyRelation:
        """Return what the target said in prose, as SHOW ENGINE INNODB STATUS."""
        return self.table("texts")

    def query_plans(self) -> duckdb.DuckDBPyRelation:
        """Return how the target would run a sample of the costliest digests."""
        return self.table("query_plans")

    def schema_facts(self) -> duckdb.DuckDBPyRelation:
        """Return what the tape's schemas were on the target: one row for each table, column, index, ..."""
        return self.table("schema_facts")


def open_tape(path: AnyPath) -> Tape:
    """Open a tape. Raises FolderError where it is missing, another thing, or of a newer version."""
    return Tape(open_folder("tape", Path(path)))


def open_run(path: AnyPath) -> Run:
    """Open a run. Raises FolderError where it is missing, another thing, or of a newer version."""
    return Run(open_folder("run", Path(path)))
