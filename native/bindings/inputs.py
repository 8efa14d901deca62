# SPDX-License-Identifier: Apache-2.0
"""Look at files before they are read; open pipes once, and keep what was looked at for the reader."""

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
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0")  # gzip, zstd, xz
Paths = Sequence[str | Path]


class Pipe(str):
    """The name of what can be read only once: a pipe, a FIFO, a device, or "-" for standard input.

    It is opened when its first bytes are looked at, and given as it is to the reader that goes on with it; else the
    reader opens it.
    """

    def __new__(cls, name: str) -> "Pipe":
        """Make one that is not opened yet."""
        made = super().__new__(cls, name)
        made._handle = None
        return made

    _handle: Any

    def open(self) -> Any:
        """Return the `struct qt_input *`, opened now where it was not. Raises NativeFault."""
        if self._handle is None:
            self._handle = _open(self)
        return self._handle

    def take(self) -> Any:
        """Return what was opened, or NULL; from now on it is the caller's."""
        handle = self._handle
        self._handle = None
        if handle is None:
            return ffi.NULL
        ffi.gc(handle, None)
        return handle


def as_input(name: str) -> str:
    """Return the name as a Pipe where it is none of a regular file."""
    if isinstance(name, Pipe):
        return name
    try:
        regular = name != STDIN and stat.S_ISREG(Path(name).stat().st_mode)
    except OSError:
        regular = True  # who opens it tells why it cannot be
    return name if regular else Pipe(name)


def head(path: str | Path, room: int = HEAD_BYTES) -> bytes:
    """Return up to `room` first bytes of a file, uncompressed; of a Pipe its reader gets them again.

    Raises NativeFault where it cannot be read.
    """
    handle = path.open() if isinstance(path, Pipe) else _open(path)
    out = ffi.new("char[]", room)
    size = ffi.new("size_t *")
    error = ffi.new("struct qt_error *")
    check(lib.qt_input_peek(handle, out, room, size, error), error)
    return bytes(ffi.buffer(out, size[0]))


def heads(paths: Paths, room: int) -> list[tuple[str | Path, bytes]]:
    """Return each file that can be looked at now with its first bytes: all but the pipes behind the first file.

    Who fills those may wait until the files before them are read. Raises NativeFault.
    """
    return [(path, head(path, room)) for place, path in enumerate(paths) if place == 0 or not isinstance(path, Pipe)]


def unpack(path: str | Path, out: int = -1, quote: str = "") -> int:
    """Write a file's bytes, uncompressed, to the descriptor `out` (-1: nowhere); return how long its longest line is.

    With a `quote` it is the longest record, in which a newline between quotes ends nothing. A Pipe is read to its end.
    Raises NativeFault where it cannot be read, or is damaged.
    """
    handle = ffi.gc(path.take(), lib.qt_input_close) if isinstance(path, Pipe) else ffi.NULL
    if handle == ffi.NULL:
        handle = _open(path)
    longest = ffi.new("uint64_t *")
    error = ffi.new("struct qt_error *")
    check(lib.qt_input_unpack(handle, out, quote.encode() or b"\0", longest, error), error)
    return int(longest[0])


def rewrite_csv(path: str | Path, out: int, separator: str, quote: str = "") -> None:
    """Write CSV whose values have escapes of backslashes to the descriptor `out`: commas, double quotes, no escapes.

    NULL is `\\N`, or NULL without quotes; it is written as nothing. Raises NativeFault where the file cannot be read,
    or a value continues after its closing quote: the message names the line.
    """
    handle, error = _open(path), ffi.new("struct qt_error *")
    check(lib.qt_input_rewrite_csv(handle, out, separator.encode(), quote.encode() or b"\0", error), error)


def plain_file(path: str | Path, folder: Path) -> str:
    """Return the name of a file with this one's bytes, for programs that know neither pipes nor packed files.

    It is the file itself, a link to one whose name is not UTF-8, or a copy in `folder`. Raises NativeFault where it
    cannot be read.
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
    """File names as C arrays, alive as long as this object. Pipes that are open go over to the reader."""

    def __init__(self, paths: Paths) -> None:
        self._texts = [ffi.new("char[]", c_path(path)) for path in paths]
        self.array = ffi.new("char *[]", self._texts)
        self.opened = ffi.new("struct qt_input *[]", [p.take() if isinstance(p, Pipe) else ffi.NULL for p in paths])
        self.count = len(self._texts)


def c_path(path: str | Path) -> bytes:
    """Return a path as the file system has it."""
    return os.fsencode(path)


def _open(path: str | Path) -> Any:
    error = ffi.new("struct qt_error *")
    handle = lib.qt_input_open(c_path(path), error)
    if handle == ffi.NULL:
        check(error.code, error)
    return ffi.gc(handle, lib.qt_input_close)
