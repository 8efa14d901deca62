# SPDX-License-Identifier: Apache-2.0
"""XXH3-128 hashes, which are several times faster than SHA-256.

The hashes detect equal files but do not protect against forgery.
"""

from .._querytape import ffi, lib
from .errors import check


class FileHash:
    """An incremental hash with the interface of hashlib."""

    def __init__(self) -> None:
        made = lib.qt_file_hash_new()
        if made == ffi.NULL:
            check(lib.QT_ENOMEM, ffi.new("struct qt_error *"))
        self._state = ffi.gc(made, lib.qt_file_hash_free)

    def update(self, block: bytes | bytearray | memoryview) -> None:
        lib.qt_file_hash_add(self._state, ffi.from_buffer(block), len(block))

    def hexdigest(self) -> str:
        """Return the hash of all bytes so far: 32 hexadecimal digits, in the format of `xxhsum -H2`."""
        out = ffi.new("char[33]")
        lib.qt_file_hash_hex(self._state, out)
        text = ffi.string(out)
        assert isinstance(text, bytes)
        return text.decode()
