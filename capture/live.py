# SPDX-License-Identifier: Apache-2.0
"""Show the progress of a running capture to other threads through the counters of its reader.

The reader is freed at the end of the capture. The last counters stay available.
"""

import threading
from dataclasses import dataclass
from typing import Any

from ..native.bindings.reader import Reader, ReaderStats


@dataclass(frozen=True)
class CaptureMoment:
    """The state of a capture at one moment. `described`: properties of its source kind.

    `total`: number of bytes to read, or None if unknown.
    """

    stats: ReaderStats
    described: dict[str, Any]
    total: int | None


class LiveCapture:
    """A capture whose state any thread can read, also after the call of `end`."""

    def __init__(self, reader: Reader, total: int | None) -> None:
        self._reader: Reader | None = reader
        self._total = total
        self._lock = threading.Lock()
        self._last: CaptureMoment | None = None

    def read(self) -> CaptureMoment:
        """Return the current state of the capture, or its last state after the end."""
        with self._lock:
            if self._reader is None:
                assert self._last is not None
                return self._last
            return self._look(self._reader)

    def _look(self, reader: Reader) -> CaptureMoment:
        return CaptureMoment(reader.stats(), reader.describe(), self._total)

    def end(self) -> None:
        """Save the last state, so that the reader can be closed."""
        with self._lock:
            if self._reader is not None:
                self._last, self._reader = self._look(self._reader), None
