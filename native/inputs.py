# SPDX-License-Identifier: Apache-2.0
"""The first bytes of a file, whatever it is packed in."""

from pathlib import Path

from ._querytape import ffi, lib
from .errors import check

HEAD_BYTES = 64 << 10


def head(path: str | Path, room: int = HEAD_BYTES) -> bytes:
    """Return up to `room` first bytes of a file, uncompressed. Raises NativeFault where it can't be read."""
    out = ffi.new("char[]", room)
    got = ffi.new("size_t *")
    error = ffi.new("struct qt_error *")
    check(lib.qt_input_head(str(path).encode("utf-8", "surrogateescape"), out, room, got, error), error)
    return bytes(ffi.buffer(out, got[0]))
