# SPDX-License-Identifier: Apache-2.0
"""Tapes and runs as folders: opening them, their versions, and writing files so that a kill leaves no half file."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from .tables import FORMAT_VERSION, columns


class FolderError(Exception):
    """A folder is not the tape or run it was given as; the message is a sentence for the user."""


def make_private(path: Path) -> None:
    """Create a folder that only its owner can read (0700); parents must exist, the folder must not."""
    path.mkdir(mode=0o700)
    path.chmod(0o700)


@contextmanager
def publish(final: Path) -> Iterator[Path]:
    """Yield a temporary name beside `final`; on success make it 0600, sync it and rename it into place."""
    temporary = final.with_name(final.name + ".tmp")
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    try:
        yield temporary
        temporary.chmod(0o600)
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        temporary.replace(final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def cache_folder() -> Path:
    """Return where this user's caches are (XDG Base Directory Specification); it may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "querytape"


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file atomically, readable by its owner alone."""
    with publish(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")


def sql_text(value: str | Path) -> str:
    """Quote a text as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


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

    def source(self, table: str) -> str:
        """Return an SQL table expression for one table; an empty one with the right columns where no file exists."""
        single = self.path / f"{table}.parquet"
        parts = self.path / table
        if single.exists():
            return f"read_parquet({sql_text(single)})"
        if parts.is_dir() and any(parts.glob("part-*.parquet")):
            return f"read_parquet({sql_text(parts / 'part-*.parquet')})"
        listed = ", ".join(f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in columns(self.kind, table))
        return f"(SELECT {listed} WHERE false)"

    def attach(self, con: duckdb.DuckDBPyConnection, prefix: str) -> None:
        """Create one view for each table, named `{prefix}_{table}`."""
        for table in TABLES[self.kind]:
            con.execute(f'CREATE OR REPLACE TEMP VIEW "{prefix}_{table}" AS SELECT * FROM {self.source(table)}')


TABLES = {
    "tape": ("events", "sessions", "digests", "problems"),
    "run": ("outcomes", "sessions", "ticks", "samples", "texts", "plans"),
}


def open_folder(kind: str, path: Path) -> Folder:
    """Open a tape or a run. Raises FolderError where it is missing, another thing, or of a newer version."""
    marker = path / f"{kind}.json"
    if not path.exists():
        raise FolderError(f"{path}: no such {kind}")
    if not marker.exists():
        other = "run" if kind == "tape" else "tape"
        hint = f"; it is a {other}" if (path / f"{other}.json").exists() else f": it has no {kind}.json"
        raise FolderError(f"{path} is not a {kind}{hint}")
    try:
        info = json.loads(marker.read_text(encoding="utf-8"))
        version = info["format_version"]
    except (ValueError, KeyError, UnicodeDecodeError) as fault:
        raise FolderError(f"{marker}: expected a {kind}'s JSON, found something else ({fault})") from fault
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FolderError(
            f"{path} has {kind} format {version}; this querytape reads up to {FORMAT_VERSION}:"
            " install a newer querytape"
        )
    return Folder(kind, path, info)


def tape_id(info: dict[str, Any]) -> str:
    """Return what tells a tape from others: SHA-256 of its lists of parts and files."""
    text = json.dumps({"parts": info.get("parts"), "files": info.get("files")}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
