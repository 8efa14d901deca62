# SPDX-License-Identifier: Apache-2.0
"""Open tapes and runs in Python programs. Their tables are DuckDB relations, which other libraries read as Arrow."""

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
    """An open tape or run. It can be passed to functions that take a path."""

    folder: Folder

    @property
    def path(self) -> Path:
        """The path of the opened folder."""
        return self.folder.path

    @property
    def info(self) -> dict[str, Any]:
        """The content of the folder's JSON file, as described in docs/format.md."""
        return self.folder.info

    def __fspath__(self) -> str:
        return fspath(self.folder.path)

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table by its name in schemas/tape.sql or run.sql. Raises KeyError if the name is unknown.

        The table is read when the relation is read, through `.arrow()`, `.df()`, `.pl()` or `__arrow_c_stream__`.
        """
        if name not in TABLES[self.folder.kind]:
            raise KeyError(
                f"a {self.folder.kind} has no table {name!r}: expected one of {', '.join(TABLES[self.folder.kind])}"
            )
        return open_database(memory=None).sql(f"FROM {self.folder.source(name)}")

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the rows of a query. All tables are available by name. Raises duckdb.Error."""
        con = open_database(memory=None)
        for name in TABLES[self.folder.kind]:
            con.execute(f'CREATE TEMP VIEW "{name}" AS FROM {self.folder.source(name)}')
        return con.sql(query)


class Tape(_Opened):
    """A tape: recorded traffic."""

    def events(self) -> duckdb.DuckDBPyRelation:
        """Return one row per command of a client."""
        return self.table("events")

    def sessions(self) -> duckdb.DuckDBPyRelation:
        """Return one row per original connection."""
        return self.table("sessions")

    def digests(self) -> duckdb.DuckDBPyRelation:
        """Return one row per normalised statement."""
        return self.table("digests")

    def problems(self) -> duckdb.DuckDBPyRelation:
        """Return one row per position in the source that could not be parsed."""
        return self.table("problems")


class Run(_Opened):
    """One replay of a tape."""

    def outcomes(self) -> duckdb.DuckDBPyRelation:
        """Return one row per event of the tape: whether and when it was sent, and its result."""
        return self.table("outcomes")

    def sessions(self) -> duckdb.DuckDBPyRelation:
        """Return one row per session of the run, including sessions that could not be opened."""
        return self.table("sessions")

    def ticks(self) -> duckdb.DuckDBPyRelation:
        """Return one row per second of the run."""
        return self.table("ticks")

    def samples(self) -> duckdb.DuckDBPyRelation:
        """Return the counters of the target and of this host. A row is stored only when a value changes."""
        return self.table("samples")

    def texts(self) -> duckdb.DuckDBPyRelation:
        """Return text reports of the target, such as SHOW ENGINE INNODB STATUS."""
        return self.table("texts")

    def query_plans(self) -> duckdb.DuckDBPyRelation:
        """Return the query plans of the target for samples of the most expensive digests."""
        return self.table("query_plans")

    def schema_facts(self) -> duckdb.DuckDBPyRelation:
        """Return the schemas of the tape on the target: one row per table, column, index, ..."""
        return self.table("schema_facts")


def open_tape(path: AnyPath) -> Tape:
    """Open a tape. Raises FolderError if the folder is missing, is not a tape, or has a newer format version."""
    return Tape(open_folder("tape", Path(path)))


def open_run(path: AnyPath) -> Run:
    """Open a run. Raises FolderError if the folder is missing, is not a run, or has a newer format version."""
    return Run(open_folder("run", Path(path)))
