# SPDX-License-Identifier: Apache-2.0
"""XXH3-128, several times as quick as SHA-256: tells that two files are the same, not that nobody made them so."""

from .._querytape import ffi, lib
from .errors import check


class FileHash:
    """The hash of bytes that are added in their order, as hashlib's."""

    def __init__(self) -> None:
        made = lib.qt_file_hash_new()
        if made == ffi.NULL:
            check(lib.QT_ENOMEM, ffi.new("struct qt_error *"))
        self._state = ffi.gc(made, lib.qt_file_hash_free)

    def update(self, block: bytes | bytearray | memoryview) -> None:
        """Add bytes."""
        lib.qt_file_hash_add(self._state, ffi.from_buffer(block), len(block))

    def hexdigest(self) -> str:
        """Return the hash of what was added so far: 32 hexadecimal digits, as `xxhsum -H2` prints them."""
        out = ffi.new("char[33]")
        lib.qt_file_hash_hex(self._state, out)
        text = ffi.string(out)
        assert isinstance(text, bytes)
        return text.decode()
