# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for values: the same shape, the same for the same value, nothing of the original."""

from typing import Any

from ._querytape import ffi, lib
from .errors import check
from .streams import Stream, stream_pointer

KEY_BYTES = 16


class Standins:
    """One key's stand-ins; not for several threads at once."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key of {KEY_BYTES} bytes, found {len(key)}")
        pointer = lib.qt_standins_new(key)
        if pointer == ffi.NULL:
            raise MemoryError("stand-ins")
        self._standins = ffi.gc(pointer, lib.qt_standins_free)

    def replace(self, source: Any, kinds: str) -> Stream:
        """Return the rows of `source` with values replaced, as columns c0, c1, ...

        `kinds`: a letter a column: l BIGINT, kept; s BLOB, statements; p BLOB, parameters; m VARCHAR, messages;
        t VARCHAR, values. `source` gives 64-bit offsets and is read once.
        """
        pointer, alive = stream_pointer(source)

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_standins_stream(self._standins, pointer, kinds.encode(), out, error), error)

        return Stream(fill, (self, source, alive))
