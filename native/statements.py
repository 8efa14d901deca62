# SPDX-License-Identifier: Apache-2.0
"""The normaliser: what a statement is, does and looks like without its literals."""

from dataclasses import dataclass

from ._querytape import ffi, lib
from .errors import check


@dataclass(frozen=True, slots=True)
class Statement:
    """What the tape keeps beside a statement; `class_` and `danger` are numbers of schemas/codes.py."""

    digest: str  # 16 hexadecimal digits
    text: str  # normalised; bytes that are not UTF-8 as \xNN
    class_: int
    danger: int
    flags: int
    redacted: bytes | None  # the statement with its literals replaced, where it carries passwords or keys
    open_quote: str  # what opened a literal or comment that never ends, or ""


class Normalizer:
    """Normalises one statement after the other; not for several threads at once."""

    def __init__(self) -> None:
        pointer = lib.qt_normalizer_new()
        if pointer == ffi.NULL:
            raise MemoryError("a normaliser")
        self._normalizer = ffi.gc(pointer, lib.qt_normalizer_free)
        self._out = ffi.new("struct qt_statement *")
        self._error = ffi.new("struct qt_error *")

    def normalize(self, sql: bytes) -> Statement:
        """Return what `sql` (any bytes at all) is."""
        out = self._out
        source = ffi.from_buffer(sql)
        check(lib.qt_normalize(self._normalizer, source, len(sql), out, self._error), self._error)
        return Statement(
            digest=f"{out.digest:016x}",
            text=bytes(ffi.buffer(out.text, out.text_len)).decode("utf-8", "backslashreplace"),
            class_=out.klass,
            danger=out.danger,
            flags=out.flags,
            redacted=None if out.redacted == ffi.NULL else bytes(ffi.buffer(out.redacted, out.redacted_len)),
            open_quote=chr(out.open_quote) if out.open_quote else "",
        )
