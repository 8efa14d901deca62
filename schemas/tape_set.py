# SPDX-License-Identifier: Apache-2.0
"""A set of tapes that is read as one: a folder of tapes and set.json.

big.set/set.json         what is known of all of them together, as a tape.json; the tapes' names
big.set/digests.parquet  the digests of all
big.set/01.tape/ ...     tapes: of one that was dealt, or of several captures

Of a tape that was dealt the sessions keep their numbers. Tapes of several captures begin with 1 each: in the set the
sessions (and source files) of each are numbered on behind those of the one before.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import duck_path, plain_reason, small_database
from ..common.errors import FolderError
from ..common.units import plural
from .folders import Folder, count_files, tape_id
from .parquet_check import check_tables

SET = "set.json"
DIGESTS = "digests.parquet"
OF_SETS = ("set_of", "tapes")  # keys that only an opened set has: they are not read from a file
MAX_SESSION = (1 << 31) - 1
# Of each table the columns that count from the beginning of a tape.
NUMBERED = {"events": ("session", "file"), "sessions": ("session",), "problems": ("file",)}


@dataclass(frozen=True)
class Member:
    """A tape of a set, and what is added to the numbers of its sessions and files."""

    tape: Folder
    sessions: int
    files: int

    def read(self, table: str, source: str) -> str:
        """Return a query of a table of this tape, numbered as in the set."""
        shifts = {"session": self.sessions, "file": self.files}
        replaced = ", ".join(f"{name} + {shifts[name]} AS {name}" for name in NUMBERED[table] if shifts[name])
        return f"SELECT *{f' REPLACE ({replaced})' if replaced else ''} FROM {source}"


@dataclass(frozen=True)
class TapeSet(Folder):
    """An opened set; `is_dealt`: from one tape. `entries`, `digests`: what set.json says of its tapes, its own file."""

    is_dealt: bool = False
    members: tuple[Member, ...] = ()
    entries: tuple[dict[str, Any], ...] = ()
    digests: tuple[dict[str, Any], ...] = ()

    def files(self, table: str) -> tuple[Path, ...]:
        """Return the Parquet files of one table, those of the first tape first."""
        if table == "digests":
            return (self.path / DIGESTS,)
        return tuple(file for member in self.members for file in member.tape.files(table))

    def source(self, table: str) -> str:
        """Return an SQL table expression for one table of all tapes."""
        if table == "digests" or not self._is_shifted:
            return super().source(table)
        return f"({' UNION ALL BY NAME '.join(each.read(table, each.tape.source(table)) for each in self.members)})"

    def events_of(self, files: Sequence[str]) -> str:
        """Return an SQL table expression of some files of events."""
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
        """Check what set.json says of its tapes. Raises FolderError."""
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
        """Raise FolderError where two tapes have a session of one number: it would be replayed as one."""
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
    """Return the set of these opened tapes; `info` is what set.json says. Nothing is checked."""
    known_as = {"set_of": info.get("dealt_from") or set_id(tapes), "tapes": [tape.path.name for tape in tapes]}
    numbered = info["tape"] | {"finished": True, **known_as}
    is_dealt = bool(info.get("dealt_from"))
    members = number_on(tapes, is_dealt)
    entries, digests = tuple(info["tapes"]), tuple(info["digests"])
    return TapeSet("tape", path, numbered, is_dealt=is_dealt, members=members, entries=entries, digests=digests)


def number_on(tapes: Sequence[Folder], are_dealt: bool) -> tuple[Member, ...]:
    """Return the members of a set; those that were dealt from one tape keep the numbers that they have."""
    members, sessions, files = [], 0, 0
    for tape in tapes:
        members.append(Member(tape, sessions, files))
        if not are_dealt:
            sessions += last_session(tape)
            files += count_files(tape.info)
    return tuple(members)


def last_session(tape: Folder) -> int:
    """Return the highest number of a session."""
    return int(_ask(tape.path, f"SELECT max(session) FROM {tape.source('sessions')}")[0][0] or 0)


def _ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return a query's rows. Raises FolderError where a file is damaged inside."""
    with small_database() as con:
        try:
            return con.execute(query).fetchall()
        except duckdb.Error as error:
            raise FolderError(
                f"{path}: {plain_reason(error)}: run `querytape tape verify` to find the damaged file"
            ) from error


def set_id(tapes: Sequence[Folder]) -> str:
    """Return what tells a set of several captures from others: SHA-256 of their own ids, in their order."""
    return hashlib.sha256("\n".join(tape_id(tape.info) for tape in tapes).encode()).hexdigest()
