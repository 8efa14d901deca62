# SPDX-License-Identifier: Apache-2.0
"""Normalise statements: their digest, text without literals, class and danger."""

import re
from dataclasses import dataclass
from typing import Any

from .._querytape import ffi, lib
from .errors import check

_DIGEST = re.compile("[0-9a-fA-F]{1,16}")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a tape keeps of a statement; `class_`, `danger` and `flags` are numbers of schemas/names.toml."""

    digest: str  # 16 hexadecimal digits
    text: str  # normalised; bytes that are not UTF-8 as \xNN
    class_: int
    danger: int
    actions: int  # bits of ACTIONS
    flags: int
    redacted: bytes | None  # the statement with its literals replaced, where it carries passwords or keys
    open_quote: str  # what opened a literal or comment that never ends, or ""


@dataclass(frozen=True, slots=True)
class Mode:
    """How a session has its statements read: struct qt_session_mode of native/querytape.h."""

    reading: int = 0  # 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES
    charset: int = 0  # 1 = gbk, 2 = big5, 3 = sjis; 4 = 0xA0 is white space (latin1 and its like), 5 = 0xFF (cp866)
    known: int = 0  # 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 4 = the character set


class Normalizer:
    """Normalises one statement after the other; one thread at a time."""

    def __init__(self) -> None:
        pointer = lib.qt_normalizer_new()
        if pointer == ffi.NULL:
            raise MemoryError("out of memory for a normaliser")
        self._normalizer = ffi.gc(pointer, lib.qt_normalizer_free)
        self._out = ffi.new("struct qt_statement *")
        self._error = ffi.new("struct qt_error *")

    def normalize(self, sql: bytes, mode: Mode | None = None) -> Statement:
        """Return what `sql` is, any bytes at all; `mode` None = not known. Raises NativeFault where memory is short."""
        out = self._out
        source, known = ffi.from_buffer(sql), _native(mode or Mode())
        check(lib.qt_normalize(self._normalizer, known, source, len(sql), out, self._error), self._error)
        return Statement(
            digest=f"{out.digest:016x}",
            text=bytes(ffi.buffer(out.text, out.text_len)).decode("utf-8", "backslashreplace"),
            class_=out.klass,
            danger=out.danger,
            actions=out.actions,
            flags=out.flags,
            redacted=None if out.redacted == ffi.NULL else bytes(ffi.buffer(out.redacted, out.redacted_len)),
            open_quote=chr(out.open_quote) if out.open_quote else "",
        )

    def names(self, sql: bytes, mode: Mode | None = None) -> tuple[list[str], list[str]]:
        """Return the tables that `sql` names, and the functions and routines that it calls, as it writes them."""
        out = ffi.new("struct qt_statement_names *")
        source, known = ffi.from_buffer(sql), _native(mode or Mode())
        check(lib.qt_statement_names(self._normalizer, known, source, len(sql), out, self._error), self._error)
        return _texts(out.tables, out.tables_len), _texts(out.calls, out.calls_len)

    def properties(self, sql: bytes, mode: Mode | None = None) -> int:
        """Return how `sql` is written: bits of PROPERTIES."""
        source, known = ffi.from_buffer(sql), _native(mode or Mode())
        return int(lib.qt_statement_properties(self._normalizer, known, source, len(sql)))

    def killed_thread(self, sql: bytes) -> tuple[int | None, bool]:
        """Return the connection id in a KILL, None if it is not a number, and whether it ends the session."""
        ends_session = ffi.new("int32_t *")
        thread = lib.qt_killed_thread(self._normalizer, ffi.from_buffer(sql), len(sql), ends_session)
        return (int(thread) if thread >= 0 else None), bool(ends_session[0])

    def follow(self, mode: Mode, sql: bytes, outcome: int = 1) -> Mode:
        """Return the mode of a session that executed `sql`. `outcome`: 1 = it succeeded, 0 = unknown, -1 = failed."""
        own = _native(mode)
        lib.qt_session_mode_follow(self._normalizer, own, ffi.from_buffer(sql), len(sql), outcome)
        return Mode(own.reading, own.charset, own.known)

    def mode_of(self, digest: str, sql: bytes) -> Mode:
        """Return how the session had `sql` read that gave it this digest: by default, where that may be.

        A digest that is none, as a damaged tape may have it, is given by no way to read.
        """
        own = _native(Mode())
        if not _DIGEST.fullmatch(digest):
            return Mode()
        lib.qt_session_mode_of_digest(self._normalizer, int(digest, 16), ffi.from_buffer(sql), len(sql), own)
        return Mode(own.reading, own.charset, own.known)


def placeholders(sql: bytes, reading: int = 0) -> list[int]:
    """Return the offsets of the placeholders of a statement that is prepared.

    `reading`: 1 = the session's sql_mode has NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 3 = both.
    """
    source, most = ffi.from_buffer(sql), sql.count(b"?")
    offsets = ffi.new("size_t[]", most)
    found = lib.qt_placeholders(source, len(sql), reading, offsets, most)
    return [int(offset) for offset in offsets[0 : min(found, most)]]


def _native(mode: Mode) -> Any:
    """Return the mode as C takes it."""
    return ffi.new("struct qt_session_mode *", (mode.reading, mode.charset, mode.known))


def _texts(start: Any, size: int) -> list[str]:
    """Return the texts that each end with a NUL."""
    if size == 0:
        return []
    return [part.decode("utf-8", "backslashreplace") for part in bytes(ffi.buffer(start, size)).split(b"\0")[:-1]]
