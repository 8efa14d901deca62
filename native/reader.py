# SPDX-License-Identifier: Apache-2.0
"""What every native source gives: parts, problems and session facts as Arrow streams, counters, and itself as JSON."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._querytape import ffi, lib
from .errors import check
from .streams import Stream

DESCRIPTION_BYTES = 64 << 10


@dataclass(frozen=True)
class ReaderStats:
    """Counters of a reader; times in nanoseconds since the epoch, None before the first event."""

    bytes_read: int
    bytes_parsed: int
    events: int
    sessions: int
    problems: int
    lost: int
    first_ns: int | None
    last_ns: int | None
    file: int
    finished: bool


class Reader:
    """A native source that was opened: `open_reader` is called with (error) and returns a `struct qt_reader *`.

    Raises NativeFault where it can't be opened.
    """

    keep: object = None  # what must live as long as the reader

    def __init__(self, open_reader: Callable[[Any], Any]) -> None:
        error = ffi.new("struct qt_error *")
        self._reader = open_reader(error)
        if self._reader == ffi.NULL:
            check(error.code, error)

    def part(self, max_rows: int, max_bytes: int) -> Stream:
        """Return the next events sorted by start, as a stream of about so many rows or bytes of statements.

        The bounds given first hold for all parts.
        """

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_reader_part(self._reader, max_rows, max_bytes, out, error), error)

        return Stream(fill, self)

    def problems(self) -> Stream:
        """Return the problems found since the last call, as a stream of the tape's `problems` columns."""
        return self._stream(lib.qt_reader_problems)

    def sessions(self) -> Stream:
        """Return what was learnt of sessions since the last call, beyond what their events show."""
        return self._stream(lib.qt_reader_sessions)

    def _stream(self, take: Callable[[Any, Any, Any], int]) -> Stream:
        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(take(self._reader, out, error), error)

        return Stream(fill, self)

    def drain_part(self, max_rows: int, max_bytes: int) -> int:
        """Parse the next part and throw it away; return its rows. For measuring the parser alone."""
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
        s = ffi.new("struct qt_reader_stats *")
        lib.qt_reader_stats(self._reader, s)
        return ReaderStats(
            bytes_read=s.bytes_read,
            bytes_parsed=s.bytes_parsed,
            events=s.events,
            sessions=s.sessions,
            problems=s.problems,
            lost=s.lost,
            first_ns=s.first_ns if s.first_ns <= s.last_ns else None,
            last_ns=s.last_ns if s.first_ns <= s.last_ns else None,
            file=s.file,
            finished=bool(s.finished),
        )

    def describe(self) -> dict[str, Any]:
        """Return what only this source knows of itself and its input; from any thread."""
        room = ffi.new("char[]", DESCRIPTION_BYTES)
        lib.qt_reader_describe(self._reader, room, DESCRIPTION_BYTES)
        found = json.loads(ffi.string(room).decode("utf-8", "replace"))
        assert isinstance(found, dict)
        return found

    def stop(self) -> None:
        """End the input at the next event; the parts that were read ahead still come. From any thread."""
        lib.qt_reader_stop(self._reader)

    def close(self) -> None:
        """Free the reader; no stream of it may be in use."""
        if self._reader != ffi.NULL:
            lib.qt_reader_close(self._reader)
            self._reader = ffi.NULL


def c_paths(paths: Sequence[str | Path]) -> tuple[Any, int, object]:
    """Return (`const char *const *`, how many, what keeps them alive) of file names."""
    texts = [ffi.new("char[]", str(path).encode("utf-8", "surrogateescape")) for path in paths]
    return ffi.new("char *[]", texts), len(texts), texts


def log_options(timezone_ns: int | None) -> Any:
    """Return a `struct qt_log_options *`; None = the zone as the log shows it."""
    options = ffi.new("struct qt_log_options *")
    options.timezone_ns = timezone_ns or 0
    options.has_timezone = timezone_ns is not None
    return options
