# SPDX-License-Identifier: Apache-2.0
"""A set of tapes that is read as one tape: a folder of tapes and set.json.

    big.set/set.json         combined properties of all tapes (in the form of tape.json) and the names of the tapes
    big.set/digests.parquet  combined digests of all tapes
    big.set/01.tape/ ...     the tapes: parts of one split tape, or several captures

If one tape was split into the set, its sessions keep their numbers. In a set of several captures, each tape numbers its
sessions and source files from the start. The set adds an offset to the numbers of each later tape.
"""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import duck_path, plain_reason, small_database
from ..common.errors import FolderError
from ..common.staged import shown_path
from ..common.units import plural
from .folders import Folder, count_files, tape_id
from .parquet_check import check_tables

SET = "set.json"
DIGESTS = "digests.parquet"
OF_SETS = ("set_of", "tapes")  # keys of an open set that are never read from a file
MAX_SESSION = (1 << 31) - 1
# Columns of each table that are numbered per tape.
NUMBERED = {"events": ("session", "file"), "sessions": ("session",), "problems": ("file",)}


@dataclass(frozen=True)
class Member:
    """A tape of a set, and the offsets for its session and file numbers."""

    tape: Folder
    sessions: int
    files: int

    def read(self, table: str, source: str) -> str:
        """Return a query for a table of this tape with the numbers of the set."""
        shifts = {"session": self.sessions, "file": self.files}
        replaced = ", ".join(f"{name} + {shifts[name]} AS {name}" for name in NUMBERED[table] if shifts[name])
        return f"SELECT *{f' REPLACE ({replaced})' if replaced else ''} FROM {source}"


@dataclass(frozen=True)
class TapeSet(Folder):
    """An open set. `is_dealt`: whether the set was made by splitting one tape.

    `entries`: the tape entries in set.json. `digests`: the entry of the digests file.
    """

    is_dealt: bool = False
    members: tuple[Member, ...] = ()
    entries: tuple[dict[str, Any], ...] = ()
    digests: tuple[dict[str, Any], ...] = ()

    def files(self, table: str) -> tuple[Path, ...]:
        """Return the Parquet files of one table, in the order of the tapes."""
        if table == "digests":
            return (self.path / DIGESTS,)
        return tuple(file for member in self.members for file in member.tape.files(table))

    def source(self, table: str) -> str:
        """Return an SQL table expression for one table over all tapes."""
        if table == "digests" or not self._is_shifted:
            return super().source(table)
        return f"({' UNION ALL BY NAME '.join(each.read(table, each.tape.source(table)) for each in self.members)})"

    def events_of(self, files: Sequence[str]) -> str:
        """Return an SQL table expression for some event files."""
        if not self._is_shifted:
            return super().events_of(files)
        selects = []
        for member in self.members:
            own = {duck_path(file) for file in member.tape.files("events")}
            if here := [file for file in files if file in own]:
                selects.append(member.read("events", member.tape.events_of(here)))
        return f"({' UNION ALL BY NAME '.join(selects)})"

    @property
    def _is_shifted(self) -> bool:
        return any(member.sessions or member.files for member in self.members)

    def check(self) -> None:
        """Check set.json against the tapes. Raises FolderError."""
        marker = self.path / SET
        for member, entry in zip(self.members, self.entries, strict=True):
            if tape_id(member.tape.info) != entry["id"]:
                raise FolderError(f"{member.tape.path}: {marker} lists a different tape: {self._again}")
        for what in ("events", "sessions"):
            together = sum(int(member.tape.info["counts"][what]) for member in self.members)
            if together != self.info["counts"][what]:
                counted = self.info["counts"][what]
                raise FolderError(
                    f"{marker}: the set lists {plural(counted, what[:-1])}, but its tapes contain {together:,}:"
                    " a file is damaged or belongs to another tape"
                )
        (entry,) = self.digests
        rows = check_tables("tape", {"digests": self.files("digests")})[self.path / DIGESTS]
        size = (self.path / DIGESTS).stat().st_size
        said = {"rows": entry["rows"], "bytes": entry["bytes"], "digests": self.info["counts"]["digests"]}
        for named, number in (("rows", rows), ("bytes", size), ("digests", rows)):
            if number != said[named]:
                raise FolderError(
                    f"{self.path / DIGESTS}: found {plural(number, named[:-1])}, but {SET} lists {said[named]:,}:"
                    " the file is damaged"
                )
        self._check_sessions()

    def _check_sessions(self) -> None:
        """Raise FolderError if two tapes have the same session number.

        A replay would merge the two sessions.
        """
        source = self.source("sessions")
        doubled = _ask(self.path, f"SELECT session FROM {source} GROUP BY session HAVING count(*) > 1 LIMIT 1")
        last = _ask(self.path, f"SELECT max(session) FROM {source}")[0][0]
        if doubled:
            raise FolderError(f"{self.path}: session {doubled[0][0]:,} is on two tapes of the set: {self._again}")
        if (last or 0) > MAX_SESSION:
            raise FolderError(f"{self.path}: the set has {last:,} sessions: expected at most {MAX_SESSION:,}")

    @property
    def _again(self) -> str:
        if self.is_dealt:
            return "run `querytape tape deal` again"
        return f"remove {SET} and run `querytape tape set {self.path}` again"


def open_members(path: Path, info: dict[str, Any], tapes: Sequence[Folder]) -> TapeSet:
    """Return a set of these open tapes without any checks. `info`: content of set.json."""
    known_as = {"set_of": info.get("dealt_from") or set_id(tapes), "tapes": [tape.path.name for tape in tapes]}
    numbered = info["tape"] | {"finished": True, **known_as}
    is_dealt = bool(info.get("dealt_from"))
    members = number_on(tapes, is_dealt)
    entries, digests = tuple(info["tapes"]), tuple(info["digests"])
    return TapeSet("tape", path, numbered, is_dealt=is_dealt, members=members, entries=entries, digests=digests)


def number_on(tapes: Sequence[Folder], are_dealt: bool) -> tuple[Member, ...]:
    """Return the members of a set. If one tape was split into the set, session numbers are kept."""
    members, sessions, files = [], 0, 0
    for tape in tapes:
        members.append(Member(tape, sessions, files))
        if not are_dealt:
            sessions += last_session(tape)
            files += count_files(tape.info)
    return tuple(members)


def last_session(tape: Folder) -> int:
    """Return the highest session number of a tape."""
    return int(_ask(tape.path, f"SELECT max(session) FROM {tape.source('sessions')}")[0][0] or 0)


def _ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query. Raises FolderError if a file is damaged."""
    with small_database() as con:
        try:
            return con.execute(query).fetchall()
        except duckdb.Error as error:
            raise FolderError(
                f"{path}: {plain_reason(error)}: run `querytape tape verify` to find the damaged file"
            ) from error


def set_id(tapes: Sequence[Folder]) -> str:
    """Return an id of a set of several captures: SHA-256 of the ids of its tapes in order."""
    return hashlib.sha256("\n".join(tape_id(tape.info) for tape in tapes).encode()).hexdigest()


def deal_command(tape: Path, count: int) -> str:
    """Return the command that deals a tape or a set to `count` tapes. The name of the new set differs from `tape`."""
    name = f"{tape.stem}-{count}.set" if tape.suffix == ".set" else f"{tape.stem}.set"
    return shlex.join(["querytape", "tape", "deal", shown_path(tape), str(count), "-o", name])
