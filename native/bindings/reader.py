# SPDX-License-Identifier: Apache-2.0
"""Read the results of a native parser.

The results are Arrow streams of events, problems and session properties, counters, and a description of the input.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from .._querytape import ffi, lib
from .errors import check
from .known_sessions import KnownSessions
from .streams import Stream

DESCRIPTION_BYTES = 64 << 10


@dataclass(frozen=True)
class ReaderStats:
    """Counters of a reader since it was opened.

    `bytes_read`: bytes of the stored files. `bytes_parsed`: bytes that were parsed, after decompression. `lost`:
    packets dropped by a live capture. `largest`: text bytes of the largest event. `not_understood`: bytes that belong
    to no event. `first_ns` and `last_ns`: nanoseconds since the epoch, None before the first event. `file`: number of
    the current file. `finished`: whether the last part was taken.
    """

    bytes_read: int
    bytes_parsed: int
    events: int
    sessions: int
    problems: int
    lost: int
    largest: int
    not_understood: int
    first_ns: int | None
    last_ns: int | None
    file: int
    finished: bool


class Reader:
    """An open input. `open_reader` receives a `struct qt_error *` and returns a `struct qt_reader *`.

    Raises NativeFault if `open_reader` returns NULL. `resources` are closed with the reader. `more`: extra fields for
    the description.

    `stop` calls `at_stop` to end the producer of the input, because a reader that waits for a pipe cannot notice a
    stop. `ends_by_itself`: `stop` only calls `at_stop`, and the reader reads the rest of the input.
    """

    def __init__(self, open_reader: Callable[[Any], Any]) -> None:
        self.resources = ExitStack()
        self.more: dict[str, Any] = {}
        self.at_stop: Callable[[], None] = lambda: None
        self.ends_by_itself = False
        error = ffi.new("struct qt_error *")
        self._reader = open_reader(error)
        if self._reader == ffi.NULL:
            check(error.code, error)

    def know_sessions(self, known: KnownSessions) -> None:
        """Take ownership of sessions that were open before the capture.

        Must be called before the first part is read.
        """
        known.give_to(self._reader)

    def part(self, max_rows: int, max_bytes: int) -> Stream:
        """Return a stream of the next events, sorted by start.

        The stream has about `max_rows` rows or `max_bytes` bytes of statements. The limits of the first call apply to
        all parts. Raises NativeFault.
        """

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_reader_part(self._reader, max_rows, max_bytes, out, error), error)

        return Stream(fill, self)

    def problems(self) -> Stream:
        """Return a stream of the problems found since the last call, with the `problems` columns of a tape."""
        return self._stream(lib.qt_reader_problems)

    def sessions(self) -> Stream:
        """Return a stream of the session properties found since the last call.

        The events do not contain these properties.
        """
        return self._stream(lib.qt_reader_sessions)

    def _stream(self, take: Callable[[Any, Any, Any], int]) -> Stream:
        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(take(self._reader, out, error), error)

        return Stream(fill, self)

    def drain_part(self, max_rows: int, max_bytes: int) -> int:
        """Parse the next part, discard it, and return its number of rows. Used for measurements of the parser only."""
        memory = ffi.new("char[]", lib.qt_stream_size())
        stream = ffi.cast("struct ArrowArrayStream *", memory)
        error = ffi.new("struct qt_error *")
        rows = ffi.new("uint64_t *")
        check(lib.qt_reader_part(self._reader, max_rows, max_bytes, stream, error), error)
        code = lib.qt_drain(stream, rows, error)
        lib.qt_stream_release(stream)
        check(code, error)
        return int(rows[0])

    def stats(self) -> ReaderStats:
        """Return the current counters. Thread-safe."""
        counters = ffi.new("struct qt_reader_stats *")
        lib.qt_reader_stats(self._reader, counters)
        has_times = counters.first_ns <= counters.last_ns
        return ReaderStats(
            bytes_read=counters.bytes_read,
            bytes_parsed=counters.bytes_parsed,
            events=counters.events,
            sessions=counters.sessions,
            problems=counters.problems,
            lost=counters.lost,
            largest=counters.largest,
            not_understood=counters.not_understood,
            first_ns=counters.first_ns if has_times else None,
            last_ns=counters.last_ns if has_times else None,
            file=counters.file,
            finished=bool(counters.finished),
        )

    def describe(self) -> dict[str, Any]:
        """Return properties that are specific to this kind of input. Thread-safe."""
        room = ffi.new("char[]", DESCRIPTION_BYTES)
        lib.qt_reader_describe(self._reader, room, DESCRIPTION_BYTES)
        description = json.loads(ffi.string(room).decode("utf-8", "replace"))
        assert isinstance(description, dict)
        return {**description, **self.more}

    def stop(self) -> None:
        """End the input at the next event. Parts that were read ahead are still returned. Thread-safe."""
        self.at_stop()
        if not self.ends_by_itself:
            lib.qt_reader_stop(self._reader)

    def close(self) -> None:
        """Free the reader and its resources. None of its streams may be in use."""
        if self._reader != ffi.NULL:
            lib.qt_reader_close(self._reader)
            self._reader = ffi.NULL
            self.resources.close()
