# SPDX-License-Identifier: Apache-2.0
"""Replace values by pseudonyms. Equal values get equal pseudonyms.

A pseudonym has the form of its value and contains no part of it.
"""

from typing import Any

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream, stream_pointer

KEY_BYTES = 16


class Pseudonyms:
    """Pseudonyms for one key of KEY_BYTES bytes. Not thread-safe."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"expected a key of {KEY_BYTES} bytes, found {len(key)}")
        pointer = lib.qt_pseudonyms_new(key)
        if pointer == ffi.NULL:
            raise MemoryError("out of memory for the pseudonyms")
        self._pseudonyms = ffi.gc(pointer, lib.qt_pseudonyms_free)

    @property
    def ambiguous(self) -> int:
        """Number of statements with several possible readings. The values of each reading were replaced."""
        return int(lib.qt_pseudonyms_ambiguous(self._pseudonyms))

    def replace(self, source: Any, kinds: str) -> Stream:
        """Return the rows of `source` with replaced values, as columns c0, c1, ...

        `kinds` has one letter per column:

        - l: BIGINT, unchanged
        - s: BLOB, statements
        - p: BLOB, parameters (see schemas/params.md)
        - m: VARCHAR, error messages
        - t: VARCHAR, values

        `source` is any object with `__arrow_c_stream__` and 64-bit offsets. The source is read once. Raises
        NativeFault.
        """
        pointer, alive = stream_pointer(source)

        def fill(out: Any) -> None:
            error = ffi.new("struct qt_error *")
            check(lib.qt_pseudonyms_stream(self._pseudonyms, pointer, kinds.encode(), out, error), error)

        return Stream(fill, (self, source, alive))
