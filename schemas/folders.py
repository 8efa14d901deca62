# SPDX-License-Identifier: Apache-2.0
"""Tapes and runs: folders with Parquet files and one JSON file that contains their format version."""

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
# The JSON keys that list the files of a table.
FILE_LISTS = {"tape": {"events": "parts", "*": "tables"}, "run": {"*": "files"}, "plans": {"*": "files"}}
_PART = re.compile(r"part-[a-z0-9-]{1,40}\.parquet", re.ASCII)


@dataclass(frozen=True)
class Folder:
    """An open tape or run: its path and the content of its JSON file."""

    kind: str
    path: Path
    info: dict[str, Any]

    @property
    def tape_info(self) -> TapeInfo:
        """The JSON of a tape."""
        return cast(TapeInfo, self.info)

    @property
    def run_info(self) -> RunInfo:
        """The JSON of a run."""
        return cast(RunInfo, self.info)

    @property
    def plans_info(self) -> PlansInfo:
        """The JSON of a folder of plans."""
        return cast(PlansInfo, self.info)

    @property
    def target(self) -> ServerInfo:
        """The server of a run, or an empty object if the JSON has none."""
        return self.run_info.get("target") or {}

    @property
    def parameters(self) -> Parameters:
        """The options of a run."""
        return self.run_info.get("parameters") or {}

    @property
    def finished(self) -> bool:
        """Whether the writer of the folder finished. False after a kill."""
        return bool(self.info.get("finished"))

    def files(self, table: str) -> tuple[Path, ...]:
        """Return the Parquet files of a table in order.

        If the writer has finished, the files are those that the JSON lists.
        """
        entries = self._listed(table)
        return self._there(table) if entries is None else tuple(self.path / name for name in sorted(entries))

    def source(self, table: str) -> str:
        """Return an SQL table expression for a table.

        If the table has no files, the expression has the right columns and no rows.
        """
        listed = ", ".join(f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in columns(self.kind, table))
        nothing = f"SELECT {listed} WHERE false"
        files = self.files(table)
        if not files:
            return f"({nothing})"
        return f"(FROM read_parquet({sql_files(files)}, union_by_name = true) UNION ALL BY NAME {nothing})"

    def events_of(self, files: Sequence[str]) -> str:
        """Return an SQL table expression for some event files. `files` are names in the form of `duck_path`.

        The numbers of sessions and files are the same as in `source`.
        """
        return f"read_parquet([{', '.join(map(sql_text, files))}])"

    def attach(self, con: duckdb.DuckDBPyConnection, prefix: str) -> None:
        """Create one view per table, named `{prefix}_{table}`."""
        for table in TABLES[self.kind]:
            con.execute(f'CREATE OR REPLACE TEMP VIEW "{prefix}_{table}" AS SELECT * FROM {self.source(table)}')

    def check(self) -> None:
        """Check all files by their footers.

        Raises FolderError with the name of the file and, if known, of the column.
        """
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
        """Return {name: entry} of the files that the JSON lists for a table.

        Returns None if the writer has not finished or the JSON has no such list.
        """
        entries = self.info.get(FILE_LISTS[self.kind].get(table, FILE_LISTS[self.kind]["*"]))
        if not self.finished or entries is None:
            return None
        listed = {
            entry["file"]: entry for entry in entries if entry["file"].split("/")[0].removesuffix(".parquet") == table
        }
        # Query plans are written last. A kill can occur before the JSON lists their file.
        return None if table == "query_plans" and not listed else listed

    def _there(self, table: str) -> tuple[Path, ...]:
        """Return the files of a table that exist on disk."""
        single, parts = self.path / f"{table}.parquet", self.path / table
        if single.exists() or single.is_symlink():
            return (single,)
        try:
            names = sorted(each.name for each in parts.iterdir()) if parts.is_dir() else []
        except OSError as error:
            raise FolderError(f"{parts}: cannot be read: {error.strerror}") from error
        return tuple(parts / name for name in names if _PART.fullmatch(name))


def check_names(kind: str, marker: Path, info: dict[str, Any]) -> None:
    """Raise FolderError if the JSON lists an invalid file name or lists a file twice."""
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
    """Return the number of source files in the JSON of a tape.

    A followed log file that was rotated n times counts as n + 1 files.
    """
    return sum(entry.get("times") or 1 for entry in info["files"])


def file_name(info: dict[str, Any], number: int) -> str:
    """Return the name of a source file by its number in events and problems."""
    behind = 0
    for entry in info["files"]:
        behind += entry.get("times") or 1
        if 0 <= number < behind:
            return str(entry["path"])
    return f"file {number}"


def tape_id(info: dict[str, Any]) -> str:
    """Return an id of a tape: SHA-256 of its lists of parts and files. The id of a set is read from its JSON."""
    if (known := info.get("set_of")) is not None:
        return str(known)
    text = json.dumps({"parts": info.get("parts"), "files": info.get("files")}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
