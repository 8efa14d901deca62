# SPDX-License-Identifier: Apache-2.0
"""The native slow-log parser: parts as Arrow streams, counters, problems."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._querytape import ffi, lib
from .errors import check, text_of
from .streams import Stream


@dataclass(frozen=True)
class SlowlogStats:
    """Counters of a parser; times in nanoseconds since the epoch, None before the first event."""

    bytes_read: int
    bytes_parsed: int
    events: int
    sessions: int
    problems: int
    restarts: int
    first_ns: int | None
    last_ns: int | None
    timezone_ns: int | None
    rate_limit: int
    rate_by_query: bool
    has_extra: bool
    file: int
    finished: bool
    server_version: str


class SlowlogReader:
    """Reads slow logs ("-" is standard input) that form one tape, in the order given.

    Raises NativeFault where a file can't be opened. Nothing but the first bytes is read before a part is pulled.
    """

    def __init__(self, paths: Sequence[str | Path], timezone_ns: int | None = None) -> None:
        error = ffi.new("struct qt_error *")
        texts = [ffi.new("char[]", str(path).encode("utf-8", "surrogateescape")) for path in paths]
        options = ffi.new("struct qt_slowlog_options *")
        options.timezone_ns = timezone_ns or 0
        options.has_timezone = timezone_ns is not None
        self._log = lib.qt_slowlog_open(ffi.new("char *[]", texts), len(texts), options, error)
        if self._log == ffi.NULL:
            check(error.code, error)

    def part(self, max_rows: int, max_bytes: int) -> Stream:
        """Return the next events, as a stream that ends after about so many rows or bytes of statements."""

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_slowlog_part(self._log, max_rows, max_bytes, out, error), error)

        return Stream(fill, self)

    def problems(self) -> Stream:
        """Return the problems found since the last call, as a stream of the tape's `problems` columns."""

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_slowlog_problems(self._log, out, error), error)

        return Stream(fill, self)

    def drain_part(self, max_rows: int, max_bytes: int) -> int:
        """Parse the next part and throw it away; return its rows. For measuring the parser alone."""
        memory = ffi.new("char[]", lib.qt_stream_size())
        stream = ffi.cast("struct ArrowArrayStream *", memory)
        error = ffi.new("struct qt_error *")
        rows = ffi.new("uint64_t *")
        check(lib.qt_slowlog_part(self._log, max_rows, max_bytes, stream, error), error)
        check(lib.qt_drain(stream, rows, error), error)
        return int(rows[0])

    def stats(self) -> SlowlogStats:
        """Return the counters as they are now; from any thread."""
        s = ffi.new("struct qt_slowlog_stats *")
        lib.qt_slowlog_stats(self._log, s)
        return SlowlogStats(
            bytes_read=s.bytes_read,
            bytes_parsed=s.bytes_parsed,
            events=s.events,
            sessions=s.sessions,
            problems=s.problems,
            restarts=s.restarts,
            first_ns=s.first_ns if s.events else None,
            last_ns=s.last_ns if s.events else None,
            timezone_ns=s.timezone_ns if s.timezone_known else None,
            rate_limit=s.rate_limit,
            rate_by_query=bool(s.rate_by_query),
            has_extra=bool(s.has_extra),
            file=s.file,
            finished=bool(s.finished),
            server_version=text_of(s.server_version),
        )

    def stop(self) -> None:
        """End the part being pulled at the next event; later parts are empty."""
        lib.qt_slowlog_stop(self._log)

    def close(self) -> None:
        """Free the parser; no stream of it may be in use."""
        if self._log != ffi.NULL:
            lib.qt_slowlog_close(self._log)
            self._log = ffi.NULL


def first_time(path: str | Path) -> int:
    """Return when the first event of a log ended, nanoseconds since the epoch. Raises NativeFault where it has none."""
    error = ffi.new("struct qt_error *")
    out = ffi.new("int64_t *")
    check(lib.qt_slowlog_first_time(str(path).encode("utf-8", "surrogateescape"), out, error), error)
    return int(out[0])
