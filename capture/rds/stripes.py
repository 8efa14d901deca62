# SPDX-License-Identifier: Apache-2.0
"""Read Aurora's audit log, which is written into several files at once, as one text in the order of time.

Files are `audit/audit.log.STRIPE.YYYY-MM-DD-HH-MM.TURN`; a row begins with the microsecond of its time. A row is given
when all files were read after its time and LATE_US more, for the server writes a file's rows in no strict order.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .cloud import Cloud, GoneError
from .portions import Listed, Place, byte_count, listed_files, read_on, without_cut_lines
from .rows_by_time import LATE_US, RowsByTime

STRIPE = re.compile(r"audit/audit\.log\.(\d+)\.(\d{4}(?:-\d+){4})\.(\d+)")
WAIT_S = 5.0  # the log is read for so long behind its time


@dataclass
class _File(Place):
    """A file and how far it was read; `rest`: the beginning of a row whose end is not there yet; `latest`: its time.

    `newest`: whether it was its stripe's newest file when the files were listed last.
    """

    rest: str = ""
    latest: int = 0
    newest: bool = False


@dataclass
class Stripes:
    """Reads an audit log. `begin` passes over what it has now; each `pull` yields rows in the order of time.

    `rest` yields those that were held back.
    """

    cloud: Cloud
    instance: str
    holes: list[str] = field(default_factory=list)
    cuts: int = 0
    read: dict[str, int] = field(default_factory=dict)
    waits_s: float = WAIT_S
    _files: dict[str, _File] = field(default_factory=dict)
    _rows: RowsByTime = field(default_factory=RowsByTime)

    @property
    def late(self) -> int:
        """Rows that came after later ones had been given."""
        return self._rows.late

    def begin(self) -> None:
        """Pass over what the log has now: the newest file of each stripe is read, the others do not grow any more."""
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

    def rest(self) -> Iterator[str]:
        """Yield the rows that were held back: nothing comes any more."""
        yield from self._rows.give(None)

    def _listed(self) -> dict[str, Listed]:
        found = listed_files(self.cloud, self.instance, "audit.log.")
        return {name: about for name, about in found.items() if STRIPE.fullmatch(name)}

    def _lost(self, name: str) -> None:
        self.holes.append(f"{name} was removed before its end was read")

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
    """Return the key that sorts files by their time, their turn and their stripe."""
    found = STRIPE.fullmatch(name)
    if found is None:
        return ([], 0, 0)
    return ([int(part) for part in found.group(2).split("-")], int(found.group(3)), int(found.group(1)))


def _newest_of_each(listed: dict[str, Listed]) -> set[str]:
    """Return the newest file of each stripe."""
    newest: dict[str, str] = {}
    for name in sorted(listed, key=_order):
        newest[name.split(".")[2]] = name
    return set(newest.values())
