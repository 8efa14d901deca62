# SPDX-License-Identifier: Apache-2.0
"""Tapes and runs: folders of Parquet files and one JSON file that names their format version."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import duckdb

from ..common.duck import sql_files, sql_text
from ..common.errors import FolderError
from ..common.units import plural
from .json_shapes import Parameters, PlansInfo, RunInfo, ServerInfo, TapeInfo
from .parquet_check import check_tables
from .tables import columns

TABLES = {
    "tape": ("events", "sessions", "digests", "problems"),
    "run": ("outcomes", "sessions", "ticks", "samples", "texts", "query_plans", "schema_facts"),
    "plans": ("samples", "plans", "schema_facts"),
}
# The key of the JSON that lists a table's files.
FILE_LISTS = {"tape": {"events": "parts", "*": "tables"}, "run": {"*": "files"}, "plans": {"*": "files"}}
_PART = re.compile(r"part-[a-z0-9-]{1,40}\.parquet", re.ASCII)


@dataclass(frozen=True)
class Folder:
    """An opened tape or run: its path and what its JSON file says."""

    kind: str
    path: Path
    info: dict[str, Any]

    @property
    def tape_info(self) -> TapeInfo:
        """What the JSON of a tape says."""
        return cast(TapeInfo, self.info)

    @property
    def run_info(self) -> RunInfo:
        """What the JSON of a run says."""
        return cast(RunInfo, self.info)

    @property
    def plans_info(self) -> PlansInfo:
        """What the JSON of a folder of plans says."""
        return cast(PlansInfo, self.info)

    @property
    def target(self) -> ServerInfo:
        """The server of a run; empty where its JSON has none."""
        return self.run_info.get("target") or {}

    @property
    def parameters(self) -> Parameters:
        """The options of a run."""
        return self.run_info.get("parameters") or {}

    @property
    def finished(self) -> bool:
        """Whether the writer came to its end; False after a kill."""
        return bool(self.info.get("finished"))

    def files(self, table: str) -> tuple[Path, ...]:
        """Return the Parquet files of one table, in order: those that the JSON names, where its writer has ended."""
        entries = self._listed(table)
        return self._there(table) if entries is None else tuple(self.path / name for name in sorted(entries))

    def source(self, table: str) -> str:
        """Return an SQL table expression for one table; an empty one with the right columns where no file exists."""
        listed = ", ".join(f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in columns(self.kind, table))
        nothing = f"SELECT {listed} WHERE false"
        files = self.files(table)
        if not files:
            return f"({nothing})"
        return f"(FROM read_parquet({sql_files(files)}, union_by_name = true) UNION ALL BY NAME {nothing})"

    def events_of(self, files: Sequence[str]) -> str:
        """Return an SQL table expression of some files of events, as `duck_path` has them; numbered as in `source`."""
        return f"read_parquet([{', '.join(map(sql_text, files))}])"

    def attach(self, con: duckdb.DuckDBPyConnection, prefix: str) -> None:
        """Create one view for each table, named `{prefix}_{table}`."""
        for table in TABLES[self.kind]:
            con.execute(f'CREATE OR REPLACE TEMP VIEW "{prefix}_{table}" AS SELECT * FROM {self.source(table)}')

    def check(self) -> None:
        """Check all files by their footers. Raises FolderError with the file, and the column where it is one's."""
        files = {table: self.files(table) for table in TABLES[self.kind]}
        for table, of_table in files.items():
            if more := [file for file in self._there(table) if file not in of_table]:
                raise FolderError(
                    f"{more[0]}: {self.kind}.json does not list this file: remove the file, because it is a copy or"
                    f" belongs to another {self.kind}"
                )
        rows = check_tables(self.kind, files)
        for table, of_table in files.items():
            for name, entry in (self._listed(table) or {}).items():
                self._compare(self.path / name, rows[self.path / name], entry)
            if self.finished and not of_table and self._count(table):
                raise FolderError(f"{self.path}: the files of table {table} are missing")

    def _compare(self, file: Path, rows: int, entry: dict[str, Any]) -> None:
        for what, number in (("bytes", file.stat().st_size), ("rows", rows)):
            if number != entry[what]:
                raise FolderError(
                    f"{file}: found {plural(number, what[:-1])}, but {self.kind}.json lists {entry[what]:,}: the file"
                    f" is damaged or belongs to another {self.kind}"
                )

    def _count(self, table: str) -> int:
        counts = self.info.get("counts") or {}
        return int(counts.get(table, 0)) if table in ("events", "sessions") else 0

    def _listed(self, table: str) -> dict[str, dict[str, Any]] | None:
        """Return {name: entry} of the table's files that the JSON names; None where it does not name this table's."""
        entries = self.info.get(FILE_LISTS[self.kind].get(table, FILE_LISTS[self.kind]["*"]))
        if not self.finished or entries is None:
            return None
        listed = {
            entry["file"]: entry for entry in entries if entry["file"].split("/")[0].removesuffix(".parquet") == table
        }
        # Query plans are written after the accounting: a kill may have come between them and the JSON.
        return None if table == "query_plans" and not listed else listed

    def _there(self, table: str) -> tuple[Path, ...]:
        """Return the files of a table that are there."""
        single, parts = self.path / f"{table}.parquet", self.path / table
        if single.exists() or single.is_symlink():
            return (single,)
        try:
            names = sorted(each.name for each in parts.iterdir()) if parts.is_dir() else []
        except OSError as error:
            raise FolderError(f"{parts}: cannot be read: {error.strerror}") from error
        return tuple(parts / name for name in names if _PART.fullmatch(name))


def check_names(kind: str, marker: Path, info: dict[str, Any]) -> None:
    """Raise FolderError where the JSON names a file that is not one of a tape's or run's, or one twice."""
    seen: set[str] = set()
    for key in FILE_LISTS[kind].values():
        for entry in info.get(key) or ():
            table, _, part = entry["file"].partition("/")
            good = _PART.fullmatch(part) if part else table.endswith(".parquet")
            if (
                table.removesuffix(".parquet") not in TABLES[kind]
                or not good
                or bool(part) == table.endswith(".parquet")
            ):
                raise FolderError(f"{marker}: {key}: {entry['file'][:80]!r} is not a valid file name for a {kind}")
            if entry["file"] in seen:
                raise FolderError(f"{marker}: {key}: {entry['file']} is listed twice")
            seen.add(entry["file"])


def count_files(info: dict[str, Any]) -> int:
    """Return how many source files a tape's JSON lists: one that was turned over counts as often as it was begun."""
    return sum(entry.get("times") or 1 for entry in info["files"])


def file_name(info: dict[str, Any], number: int) -> str:
    """Return the name of a source file by its number, which events and problems have."""
    behind = 0
    for entry in info["files"]:
        behind += entry.get("times") or 1
        if 0 <= number < behind:
            return str(entry["path"])
    return f"file {number}"


def tape_id(info: dict[str, Any]) -> str:
    """Return what tells a tape from others: SHA-256 of the lists of its parts and files; of a set what it says."""
    if (known := info.get("set_of")) is not None:
        return str(known)
    text = json.dumps({"parts": info.get("parts"), "files": info.get("files")}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
