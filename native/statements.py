# SPDX-License-Identifier: Apache-2.0
"""Digests: the native normaliser, one statement at a time."""

from dataclasses import dataclass

from ._querytape import ffi, lib
from .errors import check


@dataclass(frozen=True)
class Statement:
    """What the normaliser says of a statement; `klass` and `danger` are the numbers of querytape.h."""

    digest: str
    text: str
    klass: int
    danger: int
    flags: int
    redacted: bytes | None


class Normalizer:
    """Normalises statements of any bytes. Not for the main way of events: the parsers do it there."""

    def __init__(self) -> None:
        self._normalizer = ffi.gc(lib.qt_normalizer_new(), lib.qt_normalizer_free)
        if self._normalizer == ffi.NULL:
            raise MemoryError

    def normalize(self, sql: bytes) -> Statement:
        """Return digest (16 hex digits), normalised text, class, danger, flags and redacted text."""
        out = ffi.new("struct qt_statement *")
        error = ffi.new("struct qt_error *")
        check(lib.qt_normalize(self._normalizer, sql, len(sql), out, error), error)
        text = bytes(ffi.buffer(out.text, out.text_len)).decode("utf-8", "replace")
        redacted = bytes(ffi.buffer(out.redacted, out.redacted_len)) if out.redacted != ffi.NULL else None
        return Statement(f"{out.digest:016x}", text, out.klass, out.danger, out.flags, redacted)
