# SPDX-License-Identifier: Apache-2.0
"""Read a log file of an instance while it grows and turns, in portions by marker, as one text without a gap.

A portion counts when a listing taken after it shows that the file has not turned meanwhile; else it is read from the
rotated file, whose text must go on where ours ended.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...common.errors import TargetError
from .cloud import Cloud, GoneError

SLOW_LOG = "slowquery/mysql-slowquery.log"
MAX_LINES = 10_000
PORTIONS_AT_ONCE = 8  # about a MB each, held until a listing confirms them
CUT = "[Your log message was truncated]"  # what RDS writes in place of what exceeds a portion of 1 MB
KEPT_TAIL = 512


@dataclass
class _Place:
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
class LogFiles:
    """Reads one log. `begin` passes over what it has now; each `pull` yields what came since.

    `holes`: what is certainly missing, in sentences. `cuts`: how often RDS cut a line. `read`: bytes by file.
    """

    cloud: Cloud
    instance: str
    name: str = SLOW_LOG
    holes: list[str] = field(default_factory=list)
    cuts: int = 0
    read: dict[str, int] = field(default_factory=dict)
    waits_s: float = 0.0
    _place: _Place = field(default_factory=_Place)
    _rotated: dict[str, int] = field(default_factory=dict)
    _size: int | None = None

    def begin(self) -> None:
        """Pass over what the log has now. Raises TargetError, RefusedError."""
        self._rotated = self._listed()[1]
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
            turned = sorted((name for name in rotated if name not in self._rotated), key=lambda n: (rotated[n], n))
            if not turned and size is not None and self._size is not None and size < self._size:
                self.holes.append(f"{self.name} became shorter and no rotated file is there: what it had is lost")
                self._place, self._size, pending = _Place(), None, True
                continue
            self._size = size
            if turned:
                yield from self._follow(turned)
                self._rotated, self._size, pending = rotated, None, True
                continue
            for text, marker in batch:
                self._place.took(text, marker)
                yield from self._given(self.name, text)

    def _listed(self) -> tuple[int | None, dict[str, int]]:
        """Return the size of the log now, and when each rotated file of it was last written."""
        size, rotated = None, {}
        found = self.cloud.pages(
            "rds",
            "describe_db_log_files",
            "DescribeDBLogFiles",
            DBInstanceIdentifier=self.instance,
            FilenameContains=self.name.rpartition("/")[2],
        )
        for file in found:
            name = str(file.get("LogFileName"))
            if name == self.name:
                size = int(file.get("Size") or 0)
            elif name.startswith(f"{self.name}."):
                rotated[name] = int(file.get("LastWritten") or 0)
        return size, rotated

    def _batch(self) -> tuple[list[tuple[str, str]], bool]:
        """Return the next portions of the log with their markers, and whether there are more."""
        batch: list[tuple[str, str]] = []
        marker, pending = self._place.marker, True
        while pending and len(batch) < PORTIONS_AT_ONCE:
            try:
                text, marker, pending = self._portion(self.name, marker)
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
            self.holes.append(f"{first} was removed before its end was read")
        for name in others:
            try:
                yield from self._from(name, _Place())
            except GoneError:
                self.holes.append(f"{name} was removed before it was read")
        self._place = _Place()

    def _rest(self, name: str) -> Iterator[str]:
        """Yield what a rotated file has behind the place that was read."""
        place = self._place
        if not place.characters:
            yield from self._from(name, _Place())
            return
        # The markers hold for the new name if the latest portion comes again.
        text, marker, _ = self._portion(name, place.before_latest)
        if place.latest and text.startswith(place.latest):
            yield from self._given(name, text[len(place.latest) :])
            yield from self._from(name, _Place(marker=marker))
            return
        passed, tail = 0, ""
        for text in self._texts(name, _Place()):
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
        self.holes.append(f"{name} does not go on where {self.name} was read to: the end of that file is lost")
        yield from self._from(name, _Place())

    def _from(self, name: str, place: _Place) -> Iterator[str]:
        for text in self._texts(name, place):
            yield from self._given(name, text)

    def _texts(self, name: str, place: _Place) -> Iterator[str]:
        """Yield a file's portions from a place to its end."""
        pending = True
        while pending:
            text, place.marker, pending = self._portion(name, place.marker)
            yield text

    def _given(self, name: str, text: str) -> Iterator[str]:
        if (
            CUT in text
        ):  # its end is lost, the end of a literal in it, too, and the next entry would be taken for its rest
            self.cuts += text.count(CUT)
            text = "".join(line for line in text.splitlines(keepends=True) if CUT not in line)
        if text:
            self.read[name] = self.read.get(name, 0) + len(text.encode("utf-8", "surrogateescape"))
            yield text

    def _portion(self, name: str, marker: str) -> tuple[str, str, bool]:
        """Return a portion, the next marker, and whether there is more; with fewer lines where RDS would cut it."""
        lines = MAX_LINES
        while True:
            answer = self.cloud.call(
                "rds",
                "download_db_log_file_portion",
                DBInstanceIdentifier=self.instance,
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
            raise TargetError(f"{name}: RDS says that there is more behind marker {marker} and gives nothing")
        return text, following, pending
