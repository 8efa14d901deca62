# SPDX-License-Identifier: Apache-2.0
"""Normalise statements: compute their digest, their text without literals, their class and their danger level."""

import re
from dataclasses import dataclass
from typing import Any

from .._querytape import ffi, lib
from .errors import check

_DIGEST = re.compile("[0-9a-fA-F]{1,16}")


@dataclass(frozen=True, slots=True)
class Statement:
    """The stored properties of a statement. `class_`, `danger` and `flags` are numbers from schemas/names.toml."""

    digest: str  # 16 hexadecimal digits
    text: str  # without literals; bytes that are not UTF-8 become \xNN
    class_: int
    danger: int
    actions: int  # bits from ACTIONS
    flags: int
    redacted: bytes | None  # the statement without literals if it contains passwords or keys, else None
    open_quote: str  # start of a literal or comment that has no end, or ""


@dataclass(frozen=True, slots=True)
class Mode:
    """How a session reads statements, see struct qt_session_mode in native/querytape.h."""

    reading: int = 0  # 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES
    charset: int = 0  # 1 = gbk, 2 = big5, 3 = sjis; white space: 4 = 0xA0 (as in latin1), 5 = 0xFF (cp866)
    known: int = 0  # known settings: 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 4 = charset


class Normalizer:
    """Normalises statements one by one. Not thread-safe."""

    def __init__(self) -> None:
        pointer = lib.qt_normalizer_new()
        if pointer == ffi.NULL:
            raise MemoryError("out of memory for a normaliser")
        self._normalizer = ffi.gc(pointer, lib.qt_normalizer_free)
        self._out = ffi.new("struct qt_statement *")
        self._error = ffi.new("struct qt_error *")

    def normalize(self, sql: bytes, mode: Mode | None = None) -> Statement:
        """Return the properties of `sql`, which may contain any bytes. If `mode` is None, the mode is unknown.

        Raises NativeFault if memory runs out.
        """
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
        """Return the names of tables in `sql`, and the names of called functions and routines.

        The names keep the spelling of `sql`.
        """
        out = ffi.new("struct qt_statement_names *")
        source, known = ffi.from_buffer(sql), _native(mode or Mode())
        check(lib.qt_statement_names(self._normalizer, known, source, len(sql), out, self._error), self._error)
        return _texts(out.tables, out.tables_len), _texts(out.calls, out.calls_len)

    def properties(self, sql: bytes, mode: Mode | None = None) -> int:
        """Return the properties of the form of `sql`, as bits of PROPERTIES."""
        source, known = ffi.from_buffer(sql), _native(mode or Mode())
        return int(lib.qt_statement_properties(self._normalizer, known, source, len(sql)))

    def killed_thread(self, sql: bytes) -> tuple[int | None, bool]:
        """Return the connection id in a KILL statement, and whether the statement ends the session.

        The id is None if the statement does not contain a number.
        """
        ends_session = ffi.new("int32_t *")
        thread = lib.qt_killed_thread(self._normalizer, ffi.from_buffer(sql), len(sql), ends_session)
        return (int(thread) if thread >= 0 else None), bool(ends_session[0])

    def follow(self, mode: Mode, sql: bytes, outcome: int = 1) -> Mode:
        """Return the mode of a session after it executed `sql`. `outcome`: 1 = success, 0 = unknown, -1 = failure."""
        own = _native(mode)
        lib.qt_session_mode_follow(self._normalizer, own, ffi.from_buffer(sql), len(sql), outcome)
        return Mode(own.reading, own.charset, own.known)

    def mode_of(self, digest: str, sql: bytes) -> Mode:
        """Return the mode in which `sql` has this digest. Prefer the default mode.

        For an invalid digest, for example from a damaged tape, the result is the default mode.
        """
        own = _native(Mode())
        if not _DIGEST.fullmatch(digest):
            return Mode()
        lib.qt_session_mode_of_digest(self._normalizer, int(digest, 16), ffi.from_buffer(sql), len(sql), own)
        return Mode(own.reading, own.charset, own.known)


def placeholders(sql: bytes, reading: int = 0) -> list[int]:
    """Return the offsets of the placeholders in a prepared statement.

    `reading`: sql_mode of the session; 1 = NO_BACKSLASH_ESCAPES, 2 = ANSI_QUOTES, 3 = both.
    """
    source, most = ffi.from_buffer(sql), sql.count(b"?")
    offsets = ffi.new("size_t[]", most)
    found = lib.qt_placeholders(source, len(sql), reading, offsets, most)
    return [int(offset) for offset in offsets[0 : min(found, most)]]


def _native(mode: Mode) -> Any:
    """Return the mode as a C struct."""
    return ffi.new("struct qt_session_mode *", (mode.reading, mode.charset, mode.known))


def _texts(start: Any, size: int) -> list[str]:
    """Return a list of texts from a buffer of NUL-terminated texts."""
    if size == 0:
        return []
    return [part.decode("utf-8", "backslashreplace") for part in bytes(ffi.buffer(start, size)).split(b"\0")[:-1]]
