# SPDX-License-Identifier: Apache-2.0
"""Shows a capture to others while it goes on: the reader's counters, read when somebody asks.

The reader is freed at the capture's end; what was read last stays.
"""

import threading
from dataclasses import dataclass
from typing import Any

from ..native.bindings.reader import Reader, ReaderStats


@dataclass(frozen=True)
class CaptureMoment:
    """A capture at one moment. `described`: what its kind says of itself. `total`: bytes to read, None = unknown."""

    stats: ReaderStats
    described: dict[str, Any]
    total: int | None


class LiveCapture:
    """A capture that can be looked at from any thread, until `end` and after it."""

    def __init__(self, reader: Reader, total: int | None) -> None:
        self._reader: Reader | None = reader
        self._total = total
        self._lock = threading.Lock()
        self._last: CaptureMoment | None = None

    def read(self) -> CaptureMoment:
        """Return the capture as it is now, or as it was at its end."""
        with self._lock:
            if self._reader is None:
                assert self._last is not None
                return self._last
            return self._look(self._reader)

    def _look(self, reader: Reader) -> CaptureMoment:
        return CaptureMoment(reader.stats(), reader.describe(), self._total)

    def end(self) -> None:
        """Keep what there is now: the reader may be closed."""
        with self._lock:
            if self._reader is not None:
                self._last, self._reader = self._look(self._reader), None
