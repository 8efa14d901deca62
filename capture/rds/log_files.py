# SPDX-License-Identifier: Apache-2.0
"""Read a log file of an instance while it grows and turns, in portions by marker, as one text without a gap.

A portion counts when a listing taken after it shows that the file has not turned meanwhile; else it is read from the
rotated file, whose text must go on where ours ended. Rotated files are named by the hour (...log.2026-11-22.07), which
may grow on, or numbered: those are renamed each time, and known by their size and the time when they were last written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .cloud import Cloud, GoneError
from .portions import Listed, Place, byte_count, listed_files, read_on, read_portion, without_cut_lines

SLOW_LOG = "slowquery/mysql-slowquery.log"
AUDIT_LOG = "audit/server_audit.log"
PORTIONS_AT_ONCE = 8  # about a MB each, held until a listing confirms them
KEPT_TAIL = 512
DATED = re.compile(r"\.\d{4}-\d\d-\d\d\.\d+$")


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
    late: int = 0
    _place: _Place = field(default_factory=_Place)
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
                self.holes.append(f"{self.name} became shorter and no rotated file is there: what it had is lost")
                self._place, self._size, pending = _Place(), None, True
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

    def rest(self) -> Iterator[str]:
        """Yield what was held back: nothing is."""
        yield from ()

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
                    self.holes.append(f"{name} was removed before its end was read")

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
            self.holes.append(f"{first} was removed before its end was read")
        for name in others:
            try:
                yield from self._whole(name)
            except GoneError:
                self.holes.append(f"{name} was removed before it was read")
        self._place = _Place()

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
        self.holes.append(f"{name} does not go on where {self.name} was read to: the end of that file is lost")
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
