# SPDX-License-Identifier: Apache-2.0
"""Read what a native parser finds: events, problems and session facts as Arrow streams; counters; its description."""

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
    """Counters of a reader, all since it was opened.

    `bytes_read` is of the files as they are, `bytes_parsed` uncompressed. `lost`: packets that a live capture dropped.
    `largest`: bytes of the largest event's texts. `not_understood`: bytes that no event was made of. `first_ns`,
    `last_ns`: nanoseconds since the epoch, None before the first event. `file`: the number of the file that is being
    read. `finished`: the last part was taken.
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
    """An opened input: `open_reader` is called with a `struct qt_error *` and returns a `struct qt_reader *`.

    Raises NativeFault where it returns NULL. `resources` are closed with the reader. `more`: what its opener adds
    to the description. `at_stop` is called by stop(): it ends what the input comes from, for a reader that waits for a
    pipe does not see that it shall stop. `ends_by_itself`: that alone ends it, and all that comes until then is read.
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
        """Take over sessions that were open before; before the first part."""
        known.give_to(self._reader)

    def part(self, max_rows: int, max_bytes: int) -> Stream:
        """Return the next events sorted by start, as a stream of about so many rows or bytes of statements.

        The bounds of the first call hold for all parts. Raises NativeFault.
        """

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_reader_part(self._reader, max_rows, max_bytes, out, error), error)

        return Stream(fill, self)

    def problems(self) -> Stream:
        """Return the problems found since the last call, as a stream of the tape's `problems` columns."""
        return self._stream(lib.qt_reader_problems)

    def sessions(self) -> Stream:
        """Return facts about sessions that were learnt since the last call, beyond what their events show."""
        return self._stream(lib.qt_reader_sessions)

    def _stream(self, take: Callable[[Any, Any, Any], int]) -> Stream:
        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(take(self._reader, out, error), error)

        return Stream(fill, self)

    def drain_part(self, max_rows: int, max_bytes: int) -> int:
        """Parse the next part and discard it; return how many rows it had. For measuring the parser alone."""
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
        """Return the counters as they are now; from any thread."""
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
        """Return what only this kind of input knows of itself, as its C source writes it; from any thread."""
        room = ffi.new("char[]", DESCRIPTION_BYTES)
        lib.qt_reader_describe(self._reader, room, DESCRIPTION_BYTES)
        description = json.loads(ffi.string(room).decode("utf-8", "replace"))
        assert isinstance(description, dict)
        return {**description, **self.more}

    def stop(self) -> None:
        """End the input at the next event; the parts that were read ahead still come. From any thread."""
        self.at_stop()
        if not self.ends_by_itself:
            lib.qt_reader_stop(self._reader)

    def close(self) -> None:
        """Free the reader and what it was opened with; no stream of it may be in use."""
        if self._reader != ffi.NULL:
            lib.qt_reader_close(self._reader)
            self._reader = ffi.NULL
            self.resources.close()
