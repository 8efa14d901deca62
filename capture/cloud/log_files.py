# SPDX-License-Identifier: Apache-2.0
"""Read the log files of an instance while the files grow and rotate. Tested against an emulator only.

LogFiles reads one log file in portions. A marker addresses each portion. A portion counts only if a later file listing
shows that the file was not rotated. Otherwise the portion is read from the rotated file. The text of the rotated file
must continue the text that was already read.

RDS names rotated files by the hour (...log.2026-11-22.07) or by a number. A file named by the hour may still grow.
Numbered files are renamed at each rotation. Their size and the time of their last write identify them.

AuditLogFiles reads the audit log of Aurora in time order. Aurora writes several files at once, named
`audit/audit.log.NUMBER.YYYY-MM-DD-HH-MM.TURN`. Each row begins with its time in microseconds. Aurora does not write
rows in strict order. AuditLogFiles therefore holds a row until all files were read to LATE_US after the time of the
row.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...common.errors import TargetError
from .aws import Cloud, GoneError

MAX_LINES = 10_000
CUT = "[Your log message was truncated]"  # RDS writes this text in place of the text beyond a portion of 1 MB
ROW = re.compile(r"(\d{16}),")  # a row begins with its time in microseconds
LATE_US = 10_000_000
SLOW_LOG = "slowquery/mysql-slowquery.log"
AUDIT_LOG = "audit/server_audit.log"
PORTIONS_AT_ONCE = 8  # portions of about 1 MB each, held until a listing confirms them
KEPT_TAIL = 512
DATED = re.compile(r"\.\d{4}-\d\d-\d\d\.\d+$")
AUDIT_FILE = re.compile(r"audit/audit\.log\.(\d+)\.(\d{4}(?:-\d+){4})\.(\d+)")
WAIT_S = 5.0  # seconds to keep reading after the end of the capture


@dataclass(frozen=True)
class Listed:
    """A log file in a file listing. `written`: time of the last write in ms."""

    size: int
    written: int


@dataclass
class Place:
    """The position up to which a file was read: the next marker and the bytes so far.

    `passed`: number of bytes to skip at the beginning when the file is read from its start.
    """

    marker: str = "0"
    size: int = 0
    passed: int = 0

    def took(self, text: str, marker: str) -> str:
        """Advance by one portion and return its text without the bytes to skip."""
        data = text.encode("utf-8", "surrogateescape")
        begin = max(0, self.passed - self.size)
        self.marker = marker
        self.size += len(data)
        return data[begin:].decode("utf-8", "replace") if begin else text

    def lacks(self, listed: Listed) -> bool:
        """Whether the file is longer than its part that was read or skipped."""
        return listed.size > max(self.size, self.passed)


def listed_files(cloud: Cloud, instance: str, part: str) -> dict[str, Listed]:
    """Return the log files of an instance whose names contain `part`. Raises TargetError or RefusedError."""
    found = cloud.pages(
        "rds",
        "describe_db_log_files",
        "DescribeDBLogFiles",
        DBInstanceIdentifier=instance,
        FilenameContains=part,
    )
    return {
        str(file.get("LogFileName")): Listed(int(file.get("Size") or 0), int(file.get("LastWritten") or 0))
        for file in found
    }


def read_portion(cloud: Cloud, instance: str, name: str, marker: str) -> tuple[str, str, bool]:
    """Return a portion of a file, the next marker, and whether more text follows.

    Asks for fewer lines if RDS truncates the portion. Raises GoneError if the file does not exist. Raises TargetError
    or RefusedError for other errors.
    """
    lines = MAX_LINES
    while True:
        answer = cloud.call(
            "rds",
            "download_db_log_file_portion",
            DBInstanceIdentifier=instance,
            LogFileName=name,
            Marker=marker,
            NumberOfLines=lines,
        )
        text = str(answer.get("LogFileData") or "")
        if CUT not in text or lines == 1:
            break
        lines = max(lines // 4, 1)
    following = str(answer.get("Marker") or marker)
    pending = bool(answer.get("AdditionalDataPending"))
    if pending and following == marker and not text:
        raise TargetError(f"{name}: RDS reports more data after marker {marker}, but returns no data")
    return text, following, pending


def read_on(cloud: Cloud, instance: str, name: str, place: Place) -> Iterator[str]:
    """Yield the text of a file from a position to the end of the file, without skipped bytes.

    Raises the errors of `read_portion`.
    """
    pending = True
    while pending:
        text, marker, pending = read_portion(cloud, instance, name, place.marker)
        yield place.took(text, marker)


def without_cut_lines(text: str) -> tuple[str, int]:
    """Return the text without the lines that RDS truncated, and the number of those lines.

    A truncated line may lose the closing quote of a literal. The parser would then read the following lines as part of
    that literal.
    """
    cuts = text.count(CUT)
    if cuts:
        text = "".join(line for line in text.splitlines(keepends=True) if CUT not in line)
    return text, cuts


def byte_count(text: str) -> int:
    """Return the size of a text in bytes, as encoded for the parser."""
    return len(text.encode("utf-8", "surrogateescape"))


@dataclass
class RowsByTime:
    """Holds rows back to sort them by time. `newest`: latest time of any row.

    `late`: number of rows that arrived after later rows were already passed on.
    """

    late: int = 0
    newest: int = 0
    _held: list[tuple[int, str]] = field(default_factory=list)
    _given: int = 0

    def hold(self, row: str, before: int) -> int:
        """Hold a row (which ends with a newline) and return its time in microseconds.

        A row without a time continues the previous row. Such a row gets the time `before`.
        """
        found = ROW.match(row)  # no match: the parser reports unreadable rows
        time = int(found.group(1)) if found else before
        self.newest = max(self.newest, time)
        self._held.append((time, row))
        return time

    def clear(self) -> None:
        self._held.clear()

    def give(self, until: int | None) -> Iterator[str]:
        """Yield the rows up to a time as one text. None means all rows."""
        self._held.sort(key=lambda row: row[0])
        ready = len(self._held)
        if until is not None:
            ready = next((n for n, row in enumerate(self._held) if row[0] > until), ready)
        rows, self._held = self._held[:ready], self._held[ready:]
        self.late += sum(time < self._given for time, _ in rows)
        if rows:
            self._given = max(self._given, rows[-1][0])
            yield "".join(text for _, text in rows)


@dataclass
class _LogPlace:
    """The position up to which a log was read: marker, characters, bytes and the last characters.

    The latest portion is also kept.
    """

    marker: str = "0"
    characters: int = 0
    size: int = 0
    tail: str = ""
    before_latest: str = "0"
    latest: str = ""

    def took(self, text: str, marker: str) -> None:
        """Advance by one portion."""
        if text:
            self.before_latest, self.latest = self.marker, text
        self.marker = marker
        self.characters += len(text)
        self.size += len(text.encode("utf-8", "surrogateescape"))
        self.tail = (self.tail + text)[-KEPT_TAIL:]


@dataclass
class PulledLog:
    """A log that is read by polling. `begin` skips the current content. Each `pull` yields the new content.

    `holes`: messages about missing text. `cuts`: number of lines that RDS truncated. `read`: number of bytes that were
    read, by file. `waits_s`: seconds of polling for late rows after the end of the capture.
    """

    holes: list[str] = field(default_factory=list, kw_only=True)
    cuts: int = field(default=0, kw_only=True)
    read: dict[str, int] = field(default_factory=dict, kw_only=True)
    waits_s: float = field(default=0.0, kw_only=True)
    _rows: RowsByTime = field(default_factory=RowsByTime, kw_only=True)

    @property
    def late(self) -> int:
        """Number of rows that arrived after later rows were already passed on."""
        return self._rows.late

    def begin(self) -> None:
        """Skip the current content of the log. Raises TargetError or RefusedError."""
        raise NotImplementedError

    def pull(self) -> Iterator[str]:
        """Yield the new content since the last pull. Raises TargetError or RefusedError."""
        raise NotImplementedError

    def rest(self) -> Iterator[str]:
        """Yield all rows that are still held back. Called when the log is complete."""
        yield from self._rows.give(None)


@dataclass
class LogFiles(PulledLog):
    """Reads the current file of one log and its rotated files."""

    cloud: Cloud
    instance: str
    name: str = SLOW_LOG
    _place: _LogPlace = field(default_factory=_LogPlace)
    _rotated: dict[str, Listed] = field(default_factory=dict)
    _ends: dict[str, Place] = field(default_factory=dict)  # rotated files with the hour in the name, by name
    _size: int | None = None

    def begin(self) -> None:
        self._rotated = self._listed()[1]
        self._ends = {name: Place(passed=about.size) for name, about in self._rotated.items()}
        for _ in self.pull():
            pass
        self.holes.clear()
        self.read.clear()
        self.cuts = 0

    def pull(self) -> Iterator[str]:
        """Yield the text since the last pull, up to the current end of the log. Raises TargetError or RefusedError."""
        pending = True
        while pending:
            batch, pending = self._batch()
            size, rotated = self._listed()
            yield from self._grown(rotated)
            turned = self._turned(rotated)
            if not turned and size is not None and self._size is not None and size < self._size:
                self.holes.append(f"{self.name} became shorter, and no rotated file exists. Unread rows are lost")
                self._place, self._size, pending = _LogPlace(), None, True
                continue
            self._size = size
            if turned:
                self._ends |= {name: Place(passed=rotated[name].size) for name in turned}
                yield from self._follow(turned)
                self._rotated, self._size, pending = rotated, None, True
                continue
            for text, marker in batch:
                self._place.took(text, marker)
                yield from self._given(self.name, text)

    def _listed(self) -> tuple[int | None, dict[str, Listed]]:
        """Return the current size of the log and its rotated files."""
        found = listed_files(self.cloud, self.instance, self.name.rpartition("/")[2])
        own = found.pop(self.name, None)
        rotated = {name: about for name, about in found.items() if name.startswith(f"{self.name}.")}
        return own.size if own else None, rotated

    def _turned(self, rotated: dict[str, Listed]) -> list[str]:
        """Return the new rotated files, ordered by their last write."""
        known = set(self._rotated.values())
        new = (
            name
            for name, about in rotated.items()
            if (name not in self._rotated if DATED.search(name) else about not in known)
        )
        return sorted(new, key=lambda name: (rotated[name].written, name))

    def _grown(self, rotated: dict[str, Listed]) -> Iterator[str]:
        """Yield the text that was added to rotated files with the hour in the name."""
        for name in sorted(rotated, key=lambda name: (rotated[name].written, name)):
            if DATED.search(name) and name in self._rotated and self._ends[name].lacks(rotated[name]):
                try:
                    yield from self._from(name, self._ends[name])
                except GoneError:
                    self.holes.append(f"{name} was removed before querytape read its end")

    def _batch(self) -> tuple[list[tuple[str, str]], bool]:
        """Return the next portions of the log with their markers, and whether more portions follow."""
        batch: list[tuple[str, str]] = []
        marker, pending = self._place.marker, True
        while pending and len(batch) < PORTIONS_AT_ONCE:
            try:
                text, marker, pending = read_portion(self.cloud, self.instance, self.name, marker)
            except GoneError:  # the file is being rotated or does not exist yet
                return batch, False
            batch.append((text, marker))
        return batch, pending

    def _follow(self, turned: list[str]) -> Iterator[str]:
        """Yield the rest of the current file under its new name, then all later rotated files."""
        first, *others = turned
        try:
            yield from self._rest(first)
        except GoneError:
            self.holes.append(f"{first} was removed before querytape read its end")
        for name in others:
            try:
                yield from self._whole(name)
            except GoneError:
                self.holes.append(f"{name} was removed before querytape read it")
        self._place = _LogPlace()

    def _rest(self, name: str) -> Iterator[str]:
        """Yield the text of a rotated file after the position that was already read."""
        place = self._place
        if not place.characters:
            yield from self._whole(name)
            return
        # The latest portion is read again. If its text is unchanged, the markers are valid for the renamed file.
        text, marker, _ = read_portion(self.cloud, self.instance, name, place.before_latest)
        if place.latest and text.startswith(place.latest):
            yield from self._given(name, text[len(place.latest) :])
            yield from self._from(name, Place(marker))
            return
        passed, tail = 0, ""
        for text in read_on(self.cloud, self.instance, name, Place()):
            if passed < place.characters <= passed + len(text):
                here = place.characters - passed
                if (tail + text[:here])[-len(place.tail) :] != place.tail:
                    break
                yield from self._given(name, text[here:])
            elif passed >= place.characters:
                yield from self._given(name, text)
            passed += len(text)
            tail = (tail + text)[-KEPT_TAIL:]
        else:
            if passed >= place.characters:
                return
        self.holes.append(f"{name} does not continue {self.name}. The end of {self.name} is lost")
        yield from self._whole(name)

    def _whole(self, name: str) -> Iterator[str]:
        """Yield a file from its beginning. If the file grows, a later call continues at the saved position."""
        self._ends[name] = Place()
        yield from self._from(name, self._ends[name])

    def _from(self, name: str, place: Place) -> Iterator[str]:
        for text in read_on(self.cloud, self.instance, name, place):
            yield from self._given(name, text)

    def _given(self, name: str, text: str) -> Iterator[str]:
        text, cuts = without_cut_lines(text)
        self.cuts += cuts
        if text:
            self.read[name] = self.read.get(name, 0) + byte_count(text)
            yield text


@dataclass
class _File(Place):
    """A file of the audit log and its read position. `rest`: incomplete last row. `latest`: time of the last row.

    `newest`: whether the last listing showed this file as the newest with its number.
    """

    rest: str = ""
    latest: int = 0
    newest: bool = False


@dataclass
class AuditLogFiles(PulledLog):
    """Reads the files of an audit log. Each `pull` yields rows in time order."""

    cloud: Cloud
    instance: str
    _files: dict[str, _File] = field(default_factory=dict)

    def begin(self) -> None:
        """Skip the current content of the log.

        Only the newest file of each number is read, because older files no longer grow.
        """
        listed = self._listed()
        newest = _newest_of_each(listed)
        self._files = {name: _File(passed=about.size) for name, about in listed.items() if name not in newest}
        for name in sorted(newest, key=_order):
            self._read(name, listed[name], newest=True)
        self._rows.clear()
        self.holes.clear()
        self.read.clear()
        self.cuts = 0

    def pull(self) -> Iterator[str]:
        """Yield the held rows in time order. Rows less than LATE_US older than the newest row stay held.

        Raises TargetError or RefusedError.
        """
        until = self._rows.newest - LATE_US  # older rows were in the files before this pull began
        listed = self._listed()
        newest = _newest_of_each(listed)
        for name in [name for name in self._files if name not in listed]:
            gone = self._files.pop(name)
            if gone.newest or gone.rest:
                self._lost(name)
        for name in sorted(listed, key=_order):
            known, about = self._files.get(name), listed[name]
            if known is None or known.newest or name in newest or known.lacks(about):
                self._read(name, about, name in newest)
        yield from self._rows.give(until)

    def _listed(self) -> dict[str, Listed]:
        found = listed_files(self.cloud, self.instance, "audit.log.")
        return {name: about for name, about in found.items() if AUDIT_FILE.fullmatch(name)}

    def _lost(self, name: str) -> None:
        self.holes.append(f"{name} was removed before querytape read its end")

    def _read(self, name: str, about: Listed, newest: bool) -> None:
        """Read a file to its end and hold its rows."""
        file = self._files.setdefault(name, _File())
        file.newest = newest
        try:
            for text in read_on(self.cloud, self.instance, name, file):
                self._take(name, file, text)
        except GoneError:
            del self._files[name]
            if newest or file.rest or file.lacks(about):
                self._lost(name)

    def _take(self, name: str, file: _File, text: str) -> None:
        """Hold the complete rows of a portion."""
        text, cuts = without_cut_lines(text)
        self.cuts += cuts
        self.read[name] = self.read.get(name, 0) + byte_count(text)
        rows = (file.rest + text).split("\n")
        file.rest = rows.pop()
        for row in rows:
            file.latest = self._rows.hold(f"{row}\n", file.latest)


def _order(name: str) -> tuple[list[int], int, int]:
    """Return a sort key for file names: time, TURN, NUMBER."""
    found = AUDIT_FILE.fullmatch(name)
    if found is None:
        return ([], 0, 0)
    return ([int(part) for part in found.group(2).split("-")], int(found.group(3)), int(found.group(1)))


def _newest_of_each(listed: dict[str, Listed]) -> set[str]:
    """Return the newest file of each NUMBER."""
    newest: dict[str, str] = {}
    for name in sorted(listed, key=_order):
        newest[name.split(".")[2]] = name
    return set(newest.values())
