# SPDX-License-Identifier: Apache-2.0
"""Read the log files of an instance while they grow and turn, each log as one text. Tested against an emulator only.

LogFiles reads one file in portions by marker. A portion counts when a listing taken after it shows that the file has
not turned; else it is read from the rotated file, whose text must go on where ours ended. Rotated files are named by
the hour (...log.2026-11-22.07), which may grow on, or numbered: those are renamed each time, and known by their size
and the time when they were last written.

AuditLogFiles reads Aurora's audit log, which is written into several files at once,
`audit/audit.log.NUMBER.YYYY-MM-DD-HH-MM.TURN`, in the order of time. A row begins with the microsecond of its time.
It is given when all files were read up to its time and LATE_US more, for the server writes rows in no strict order.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...common.errors import TargetError
from .aws import Cloud, GoneError

MAX_LINES = 10_000
CUT = "[Your log message was truncated]"  # what RDS writes in place of what exceeds a portion of 1 MB
ROW = re.compile(r"(\d{16}),")  # a row begins with the microsecond of its time
LATE_US = 10_000_000
SLOW_LOG = "slowquery/mysql-slowquery.log"
AUDIT_LOG = "audit/server_audit.log"
PORTIONS_AT_ONCE = 8  # about a MB each, held until a listing confirms them
KEPT_TAIL = 512
DATED = re.compile(r"\.\d{4}-\d\d-\d\d\.\d+$")
AUDIT_FILE = re.compile(r"audit/audit\.log\.(\d+)\.(\d{4}(?:-\d+){4})\.(\d+)")
WAIT_S = 5.0  # the log is read for so long behind its time


@dataclass(frozen=True)
class Listed:
    """A log file as it is listed; `written`: when it last was, in ms."""

    size: int
    written: int


@dataclass
class Place:
    """How far a file was read: the next marker, and the bytes so far.

    `passed`: bytes at its beginning that are not wanted, where it is read again.
    """

    marker: str = "0"
    size: int = 0
    passed: int = 0

    def took(self, text: str, marker: str) -> str:
        """Count a portion; return what of it is wanted."""
        data = text.encode("utf-8", "surrogateescape")
        begin = max(0, self.passed - self.size)
        self.marker = marker
        self.size += len(data)
        return data[begin:].decode("utf-8", "replace") if begin else text

    def lacks(self, listed: Listed) -> bool:
        """Whether the file has more than was read of it."""
        return listed.size > max(self.size, self.passed)


def listed_files(cloud: Cloud, instance: str, part: str) -> dict[str, Listed]:
    """Return the files of an instance whose name has `part` in it. Raises TargetError, RefusedError."""
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
    """Return a portion, the next marker, and whether there is more; with fewer lines where RDS would cut it.

    Raises GoneError where there is no such file, TargetError, RefusedError.
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
    """Yield what is wanted of a file's portions, from a place to its end. Raises as read_portion()."""
    pending = True
    while pending:
        text, marker, pending = read_portion(cloud, instance, name, place.marker)
        yield place.took(text, marker)


def without_cut_lines(text: str) -> tuple[str, int]:
    """Return a text without the lines that RDS cut, and how many there were.

    The end of such a line is lost, the end of a literal in it, too, and what follows would be taken for its rest.
    """
    cuts = text.count(CUT)
    if cuts:
        text = "".join(line for line in text.splitlines(keepends=True) if CUT not in line)
    return text, cuts


def byte_count(text: str) -> int:
    """Return the bytes of a text as it goes into the parser."""
    return len(text.encode("utf-8", "surrogateescape"))


@dataclass
class RowsByTime:
    """Holds rows back. `newest`: the latest time that came; `late`: rows that came after later ones had been given."""

    late: int = 0
    newest: int = 0
    _held: list[tuple[int, str]] = field(default_factory=list)
    _given: int = 0

    def hold(self, row: str, before: int) -> int:
        """Take a row, which has a newline, and return its time; what has none is a part of the row at `before`."""
        found = ROW.match(row)  # the parser names what is none
        time = int(found.group(1)) if found else before
        self.newest = max(self.newest, time)
        self._held.append((time, row))
        return time

    def clear(self) -> None:
        """Forget the rows that are held."""
        self._held.clear()

    def give(self, until: int | None) -> Iterator[str]:
        """Yield the rows up to a time, as one text; None = all."""
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
    """How far a file was read: the next marker, characters and bytes so far, their end; and the latest portion."""

    marker: str = "0"
    characters: int = 0
    size: int = 0
    tail: str = ""
    before_latest: str = "0"
    latest: str = ""

    def took(self, text: str, marker: str) -> None:
        """Count a portion."""
        if text:
            self.before_latest, self.latest = self.marker, text
        self.marker = marker
        self.characters += len(text)
        self.size += len(text.encode("utf-8", "surrogateescape"))
        self.tail = (self.tail + text)[-KEPT_TAIL:]


@dataclass
class PulledLog:
    """A log that is pulled: `begin` passes over what it has now, each `pull` yields what came since.

    `holes`: what is certainly missing, in sentences. `cuts`: how often RDS cut a line. `read`: bytes by file.
    `waits_s`: how long it is pulled after its time, for what comes late.
    """

    holes: list[str] = field(default_factory=list, kw_only=True)
    cuts: int = field(default=0, kw_only=True)
    read: dict[str, int] = field(default_factory=dict, kw_only=True)
    waits_s: float = field(default=0.0, kw_only=True)
    _rows: RowsByTime = field(default_factory=RowsByTime, kw_only=True)

    @property
    def late(self) -> int:
        """Rows that came after later ones had been given."""
        return self._rows.late

    def begin(self) -> None:
        """Pass over what the log has now. Raises TargetError, RefusedError."""
        raise NotImplementedError

    def pull(self) -> Iterator[str]:
        """Yield what came since. Raises TargetError, RefusedError."""
        raise NotImplementedError

    def rest(self) -> Iterator[str]:
        """Yield the rows that were held back: nothing comes any more."""
        yield from self._rows.give(None)


@dataclass
class LogFiles(PulledLog):
    """Reads the files of one log."""

    cloud: Cloud
    instance: str
    name: str = SLOW_LOG
    _place: _LogPlace = field(default_factory=_LogPlace)
    _rotated: dict[str, Listed] = field(default_factory=dict)
    _ends: dict[str, Place] = field(default_factory=dict)  # of files that are named by the hour
    _size: int | None = None

    def begin(self) -> None:
        """Pass over what the log has now. Raises TargetError, RefusedError."""
        self._rotated = self._listed()[1]
        self._ends = {name: Place(passed=about.size) for name, about in self._rotated.items()}
        for _ in self.pull():
            pass
        self.holes.clear()
        self.read.clear()
        self.cuts = 0

    def pull(self) -> Iterator[str]:
        """Yield the log's text since the last pull, up to what it has now. Raises TargetError, RefusedError."""
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
        """Return the size of the log now, and its rotated files."""
        found = listed_files(self.cloud, self.instance, self.name.rpartition("/")[2])
        own = found.pop(self.name, None)
        rotated = {name: about for name, about in found.items() if name.startswith(f"{self.name}.")}
        return own.size if own else None, rotated

    def _turned(self, rotated: dict[str, Listed]) -> list[str]:
        """Return the rotated files that were not there before, in the order in which they were written."""
        known = set(self._rotated.values())
        new = (
            name
            for name, about in rotated.items()
            if (name not in self._rotated if DATED.search(name) else about not in known)
        )
        return sorted(new, key=lambda name: (rotated[name].written, name))

    def _grown(self, rotated: dict[str, Listed]) -> Iterator[str]:
        """Yield what came into files that are named by the hour since they were read."""
        for name in sorted(rotated, key=lambda name: (rotated[name].written, name)):
            if DATED.search(name) and name in self._rotated and self._ends[name].lacks(rotated[name]):
                try:
                    yield from self._from(name, self._ends[name])
                except GoneError:
                    self.holes.append(f"{name} was removed before querytape read its end")

    def _batch(self) -> tuple[list[tuple[str, str]], bool]:
        """Return the next portions of the log with their markers, and whether there are more."""
        batch: list[tuple[str, str]] = []
        marker, pending = self._place.marker, True
        while pending and len(batch) < PORTIONS_AT_ONCE:
            try:
                text, marker, pending = read_portion(self.cloud, self.instance, self.name, marker)
            except GoneError:  # it turns in this moment, or there is none yet
                return batch, False
            batch.append((text, marker))
        return batch, pending

    def _follow(self, turned: list[str]) -> Iterator[str]:
        """Yield the rest of the file that was read, under its new name, and all of those that came after it."""
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
        """Yield what a rotated file has behind the place that was read."""
        place = self._place
        if not place.characters:
            yield from self._whole(name)
            return
        # The markers hold for the new name if the latest portion comes again.
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
        """Yield a file from its beginning; if it grows on, it is read on from there."""
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
    """A file and how far it was read; `rest`: the beginning of a row whose end is not there yet; `latest`: its time.

    `newest`: whether it was the newest file of its number when the files were listed last.
    """

    rest: str = ""
    latest: int = 0
    newest: bool = False


@dataclass
class AuditLogFiles(PulledLog):
    """Reads an audit log; each `pull` yields rows in the order of time."""

    cloud: Cloud
    instance: str
    _files: dict[str, _File] = field(default_factory=dict)

    def begin(self) -> None:
        """Pass over what the log has now: the newest file of each number is read, the others do not grow any more."""
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
        """Yield the rows that no earlier one can come before any more. Raises TargetError, RefusedError."""
        until = self._rows.newest - LATE_US  # what was written until then has been in the files for all of this pull
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
        """Read a file to its end, and hold its rows back."""
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
        """Hold back the whole rows of a portion."""
        text, cuts = without_cut_lines(text)
        self.cuts += cuts
        self.read[name] = self.read.get(name, 0) + byte_count(text)
        rows = (file.rest + text).split("\n")
        file.rest = rows.pop()
        for row in rows:
            file.latest = self._rows.hold(f"{row}\n", file.latest)


def _order(name: str) -> tuple[list[int], int, int]:
    """Return the key that sorts files by their time, their turn and their number."""
    found = AUDIT_FILE.fullmatch(name)
    if found is None:
        return ([], 0, 0)
    return ([int(part) for part in found.group(2).split("-")], int(found.group(3)), int(found.group(1)))


def _newest_of_each(listed: dict[str, Listed]) -> set[str]:
    """Return the newest file of each number."""
    newest: dict[str, str] = {}
    for name in sorted(listed, key=_order):
        newest[name.split(".")[2]] = name
    return set(newest.values())
