# SPDX-License-Identifier: Apache-2.0
"""The native slow-log parser."""

from collections.abc import Sequence
from pathlib import Path

from ._querytape import ffi, lib
from .errors import check
from .reader import Reader, c_paths, log_options


def open_slowlog(paths: Sequence[str | Path], timezone_ns: int | None = None) -> Reader:
    """Return a reader of slow logs ("-" is standard input) that form one tape, in the order given.

    Raises NativeFault where a file can't be opened. Nothing but the first bytes is read before a part is pulled.
    """
    names, n, alive = c_paths(paths)
    reader = Reader(lambda error: lib.qt_slowlog_open(names, n, log_options(timezone_ns), error))
    del alive
    return reader


def first_time(path: str | Path) -> int:
    """Return when the first event of a log ended, nanoseconds since the epoch. Raises NativeFault where it has none."""
    error = ffi.new("struct qt_error *")
    out = ffi.new("int64_t *")
    check(lib.qt_slowlog_first_time(str(path).encode("utf-8", "surrogateescape"), out, error), error)
    return int(out[0])
