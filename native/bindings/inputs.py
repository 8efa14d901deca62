# SPDX-License-Identifier: Apache-2.0
"""Inspect files before the reader reads them.

Pipes are opened once, and the reader receives their inspected bytes again.
"""

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...common.files import is_utf8
from .._querytape import ffi, lib
from .errors import check

HEAD_BYTES = 64 << 10
STDIN = "-"
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0")  # magic bytes of gzip, zstd, xz
Paths = Sequence[str | Path]


class Pipe(str):
    """The name of an input that can be read only once: a pipe, FIFO, device, or "-" for standard input.

    The input is opened when its first bytes are inspected. The open handle then passes to the reader. If an input was
    not inspected, the reader opens it.
    """

    def __new__(cls, name: str) -> "Pipe":
        """Create a pipe that is not open yet."""
        made = super().__new__(cls, name)
        made._handle = None
        return made

    _handle: Any

    def open(self) -> Any:
        """Return the `struct qt_input *` and open it if needed. Raises NativeFault."""
        if self._handle is None:
            self._handle = _open(self)
        return self._handle

    def take(self) -> Any:
        """Return the open handle or NULL, and pass its ownership to the caller."""
        handle = self._handle
        self._handle = None
        if handle is None:
            return ffi.NULL
        ffi.gc(handle, None)
        return handle


def as_input(name: str) -> str:
    """Return the name unchanged if it names a regular file, else return it as a Pipe."""
    if isinstance(name, Pipe):
        return name
    try:
        regular = name != STDIN and stat.S_ISREG(Path(name).stat().st_mode)
    except OSError:
        regular = True  # the reader reports why the file cannot be opened
    return name if regular else Pipe(name)


def head(path: str | Path, room: int = HEAD_BYTES) -> bytes:
    """Return up to `room` first bytes of a file, uncompressed. A Pipe keeps the bytes for its reader.

    Raises NativeFault if the file is unreadable.
    """
    handle = path.open() if isinstance(path, Pipe) else _open(path)
    out = ffi.new("char[]", room)
    size = ffi.new("size_t *")
    error = ffi.new("struct qt_error *")
    check(lib.qt_input_peek(handle, out, room, size, error), error)
    return bytes(ffi.buffer(out, size[0]))


def heads(paths: Paths, room: int) -> list[tuple[str | Path, bytes]]:
    """Return the first bytes of each file that can be inspected now. Pipes after the first file are omitted.

    The writer of such a pipe may wait until earlier files are read. Raises NativeFault.
    """
    return [(path, head(path, room)) for place, path in enumerate(paths) if place == 0 or not isinstance(path, Pipe)]


def unpack(path: str | Path, out: int = -1, quote: str = "") -> int:
    """Write the uncompressed bytes of a file to the descriptor `out` (-1: nowhere).

    Returns the length of the longest line. With `quote`, returns the length of the longest record. A newline inside
    quotes does not end a record. A Pipe is read to its end. Raises NativeFault if the file is unreadable or damaged.
    """
    handle = ffi.gc(path.take(), lib.qt_input_close) if isinstance(path, Pipe) else ffi.NULL
    if handle == ffi.NULL:
        handle = _open(path)
    longest = ffi.new("uint64_t *")
    error = ffi.new("struct qt_error *")
    check(lib.qt_input_unpack(handle, out, quote.encode() or b"\0", longest, error), error)
    return int(longest[0])


def rewrite_csv(path: str | Path, out: int, separator: str, quote: str = "") -> None:
    r"""Rewrite a CSV file that has backslash escapes. The output goes to the descriptor `out`.

    The output has commas, double quotes, and no backslash escapes. The input shows NULL as `\N` or as NULL without
    quotes. The output shows NULL as an empty value. Raises NativeFault if the file is unreadable or a value continues
    after its closing quote. The message contains the line number.
    """
    handle, error = _open(path), ffi.new("struct qt_error *")
    check(lib.qt_input_rewrite_csv(handle, out, separator.encode(), quote.encode() or b"\0", error), error)


def plain_file(path: str | Path, folder: Path) -> str:
    """Return the name of a plain file with the same bytes, for programs without support for pipes or compression.

    Returns the file itself, a link if the name is not UTF-8, or a copy in `folder`. Raises NativeFault if the file is
    unreadable.
    """
    if not isinstance(path, Pipe):
        with Path(path).open("rb") as file:
            packed = file.read(6).startswith(PACKED)
        if not packed and is_utf8(str(path)):
            return os.fspath(path)
        if not packed:
            link = Path(tempfile.mkdtemp(dir=folder)) / "link"
            link.symlink_to(Path(path).absolute())
            return str(link)
    copy, name = tempfile.mkstemp(dir=folder)
    try:
        unpack(path, copy)
    finally:
        os.close(copy)
    return name


class CPaths:
    """File names as C arrays that live as long as this object. The reader takes over the handles of open pipes."""

    def __init__(self, paths: Paths) -> None:
        self._texts = [ffi.new("char[]", c_path(path)) for path in paths]
        self.array = ffi.new("char *[]", self._texts)
        self.opened = ffi.new("struct qt_input *[]", [p.take() if isinstance(p, Pipe) else ffi.NULL for p in paths])
        self.count = len(self._texts)


def c_path(path: str | Path) -> bytes:
    """Return a path in the encoding of the file system."""
    return os.fsencode(path)


def _open(path: str | Path) -> Any:
    error = ffi.new("struct qt_error *")
    handle = lib.qt_input_open(c_path(path), error)
    if handle == ffi.NULL:
        check(error.code, error)
    return ffi.gc(handle, lib.qt_input_close)
