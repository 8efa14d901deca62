# SPDX-License-Identifier: Apache-2.0
"""Put rows of Aurora's audit log, which come side by side and in no strict order, into the order of time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

ROW = re.compile(r"(\d{16}),")  # a row begins with the microsecond of its time
LATE_US = 10_000_000


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
