# SPDX-License-Identifier: Apache-2.0
"""Open tapes and runs: folders of Parquet files and one JSON file that names their format version."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import sql_files
from ..common.errors import FolderError
from ..common.files import refuse_unreadable_name
from ..common.text import printable
from .json_shapes import check_shape, read_json
from .parquet_check import check_tables
from .tables import FORMAT_VERSION, columns, declared

TABLES = {
    "tape": ("events", "sessions", "digests", "problems"),
    "run": ("outcomes", "sessions", "ticks", "samples", "texts", "query_plans", "schema_facts"),
    "plans": ("samples", "plans", "schema_facts"),
}
# The key of the JSON that lists a table's files.
FILE_LISTS = {"tape": {"events": "parts", "*": "tables"}, "run": {"*": "files"}, "plans": {"*": "files"}}
MAX_LISTED = 6
_PART = re.compile(r"part-[a-z0-9-]{1,40}\.parquet", re.ASCII)


@dataclass(frozen=True)
class Folder:
    """An opened tape or run: its path and what its JSON file says."""

    kind: str
    path: Path
    info: dict[str, Any]

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
        if any(column.may_lack for column in declared(self.kind, table)):
            return f"(FROM read_parquet({sql_files(files)}, union_by_name = true) UNION ALL BY NAME {nothing})"
        return f"read_parquet({sql_files(files)})"

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
                    f"{more[0]}: {self.kind}.json does not name it: remove it: it is a copy, or belongs to another"
                    f" {self.kind}"
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
                    f"{file}: {number:,} {what}, {self.kind}.json says {entry[what]:,}: damaged, or another's"
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


def open_folder(kind: str, path: Path) -> Folder:
    """Open a tape or a run, and check all that can be checked without reading the whole of it.

    Raises FolderError where it is missing, is something else, has a newer version or is damaged: the sentence names the
    file, and the key or column.
    """
    refuse_unreadable_name(path, FolderError)
    marker = path / f"{kind}.json"
    try:
        path.stat()
    except FileNotFoundError:
        raise FolderError(f"{path}: no such {kind}") from None
    except OSError as error:
        raise FolderError(f"{path}: cannot be opened: {error.strerror}") from error
    if not marker.exists() and not marker.is_symlink():
        other = next((each for each in TABLES if each != kind and (path / f"{each}.json").exists()), None)
        hint = f"; it is a {other}" if other else f": it has no {kind}.json{_those_inside(path)}"
        raise FolderError(f"{path} is not a {kind}{hint}")
    info = read_json(kind, marker)
    version = info["format_version"]
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= FORMAT_VERSION:
        raise FolderError(
            f"{path} has {kind} format {version}; this querytape reads up to {FORMAT_VERSION}:"
            " install a newer querytape"
        )
    check_shape(kind, marker, info)
    check_names(kind, marker, info)
    folder = Folder(kind, path, info)
    folder.check()
    return folder


def _those_inside(path: Path) -> str:
    """Return which folders in a folder are a tape or a run: a comparison has runs, a demo both."""
    try:
        names = sorted(
            each.name for each in path.iterdir() if any((each / f"{kind}.json").is_file() for kind in TABLES)
        )
    except OSError:
        return ""
    listed = ", ".join(printable(name, 80) for name in names[:MAX_LISTED])
    return f"; in it are {listed}{', ...' if len(names) > MAX_LISTED else ''}" if names else ""


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
                raise FolderError(f"{marker}: {key}: {entry['file'][:80]!r} is not the name of a {kind}'s file")
            if entry["file"] in seen:
                raise FolderError(f"{marker}: {key}: {entry['file']} is named twice")
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
    """Return what tells a tape from others: SHA-256 of the lists of its parts and files."""
    text = json.dumps({"parts": info.get("parts"), "files": info.get("files")}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
