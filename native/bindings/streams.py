# SPDX-License-Identifier: Apache-2.0
"""Wrap Arrow streams from C as Python objects that DuckDB reads like a table."""

import ctypes
from collections.abc import Callable
from typing import Any

from .._querytape import ffi, lib

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Stream:
    """An Arrow stream for DuckDB. DuckDB requests the stream two or three times per query and reads it once.

    `fill` initializes an empty `ArrowArrayStream *`. `owner` is kept alive as long as this object.
    """

    def __init__(self, fill: Callable[[Any], None], owner: object) -> None:
        self._fill = fill
        self._owner = owner
        self._streams: list[Any] = []

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new capsule. This stream object keeps ownership of the memory."""
        memory = ffi.new("char[]", lib.qt_stream_size())
        stream = ffi.cast("struct ArrowArrayStream *", memory)
        self._fill(stream)
        self._streams.append(memory)
        return _new_capsule(int(ffi.cast("uintptr_t", stream)), b"arrow_array_stream", None)

    def fill(self, stream: Any) -> None:
        """Initialize an empty `ArrowArrayStream *` with these rows. The caller must release the stream."""
        self._fill(stream)

    def close(self) -> None:
        """Release all streams that were not read to their end."""
        for memory in self._streams:
            lib.qt_stream_release(ffi.cast("struct ArrowArrayStream *", memory))
        self._streams.clear()


def stream_pointer(source: Any) -> tuple[Any, object]:
    """Return the `ArrowArrayStream *` of an object with `__arrow_c_stream__`, and an object that keeps it alive."""
    capsule = source.__arrow_c_stream__()
    address = _capsule_pointer(capsule, b"arrow_array_stream")
    return ffi.cast("struct ArrowArrayStream *", address), capsule
