# SPDX-License-Identifier: Apache-2.0
"""Write a statement as text with the bound values of a prepared statement as literals.

schemas/params.md describes `params`. The text is meant for people and for a mysql client. A comment before the
statement reports values that are missing or do not match the placeholders.
"""

import struct
from collections.abc import Sequence

import duckdb
from duckdb.func import SPECIAL

from ..native.bindings.statements import placeholders
from ..schemas import FLAGS, ddl

NO_BACKSLASH = 1
READINGS = (0, 2, 1, 3)  # ways to read quotes, most common way first: see `placeholders`
INTEGERS = {0x01: "b", 0x02: "h", 0x0D: "h", 0x03: "i", 0x09: "i", 0x08: "q"}
REALS = {0x04: "<f", 0x05: "<d"}
NULL_TYPE, TIME, DECIMALS = 0x06, 0x0B, (0x00, 0xF6)
TIMES = (0x07, 0x0A, TIME, 0x0C)
BYTES = (0x10, 0xF9, 0xFA, 0xFB, 0xFC, 0xFF)  # types BIT, BLOB and GEOMETRY: shown as text if they are valid text
ESCAPES = str.maketrans({"\\": "\\\\", "'": "''", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\x1a": "\\Z"})
LIMITS = (
    ("redacted", "redacted during the capture: the literals of this statement are not on the tape"),
    ("truncated", "the log truncated this statement"),
    ("unbound", "the values of this statement are not on the tape"),
)


class _Reading:
    """Reads values of the MySQL protocol from bytes. Raises ValueError if the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise ValueError("the recorded parameters are incomplete")
        self.at += size
        return self.data[self.at - size : self.at]

    def integer(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def lenenc(self) -> int:
        first = self.integer(1)
        return self.integer({0xFC: 2, 0xFD: 3, 0xFE: 8}[first]) if first > 0xFB else first

    def string(self) -> bytes:
        return self.take(self.lenenc())


def literal(value: bytes, reading: int = 0) -> str:
    """Return bytes as an SQL literal: quoted text, or hexadecimal for binary data and control characters."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return f"X'{value.hex().upper()}'"
    known = "" if reading & NO_BACKSLASH else "\n\r\t\0\x1a"
    if not all(sign.isprintable() or sign in known for sign in text):
        return f"_utf8mb4 X'{value.hex().upper()}'"
    return "'" + (text.replace("'", "''") if reading & NO_BACKSLASH else text.translate(ESCAPES)) + "'"


def _clock(parts: bytes) -> str:
    shown = f"{parts[0]:02}:{parts[1]:02}:{parts[2]:02}"
    return f"{shown}.{int.from_bytes(parts[3:7], 'little'):06}" if len(parts) >= 7 else shown


def _moment(value: bytes, kind: int) -> str:
    """Return a DATE, DATETIME, TIMESTAMP or TIME as a quoted literal."""
    if kind == TIME:
        if len(value) < 8:
            return "'00:00:00'"
        hours = int.from_bytes(value[1:5], "little") * 24 + value[5]
        return f"'{'-' if value[0] else ''}{hours:02}{_clock(value[5:])[2:]}'"
    if len(value) < 4:
        return "'0000-00-00'" if kind == 0x0A else "'0000-00-00 00:00:00'"
    day = f"{int.from_bytes(value[:2], 'little'):04}-{value[2]:02}-{value[3]:02}"
    return f"'{day} {_clock(value[4:])}'" if len(value) >= 7 else f"'{day}'"


def _value(at: _Reading, kind: int, reading: int) -> str:
    """Return one value that is not NULL as a literal. Raises ValueError if the type is unknown."""
    base, unsigned = kind & 0xFF, kind >> 15
    if base in INTEGERS:
        code = INTEGERS[base].upper() if unsigned else INTEGERS[base]
        return str(struct.unpack(f"<{code}", at.take(struct.calcsize(f"<{code}")))[0])
    if base in REALS:
        (number,) = struct.unpack(REALS[base], at.take(struct.calcsize(REALS[base])))
        return f"{number:.9g}" if base == 0x04 else repr(number)
    if base in TIMES:
        return _moment(at.take(at.integer(1)), base)
    if base == NULL_TYPE:
        return "NULL"
    return _text(at.string(), base, reading)


def _text(value: bytes, base: int, reading: int) -> str:
    if base in DECIMALS and value and all(sign in b"+-.0123456789eE" for sign in value):
        return value.decode("ascii")
    return literal(value, reading)


def _is_set(bits: bytes, number: int) -> bool:
    return bool(bits[number // 8] >> number % 8 & 1)


def _execution(at: _Reading, letter: str, long_data: dict[int, bytes], reading: int) -> list[str]:
    """Return the values of one EXECUTE in order. Handles `params` that start with the letter E, D or N."""
    n = at.lenenc()
    absent = at.take((n + 7) // 8) if letter != "E" else bytes((n + 7) // 8)
    at.take(5)
    if n == 0:
        return []
    nulls = at.take((n + 7) // 8)
    at.take(1)
    kinds = [at.integer(2) for _ in range(n)]
    values = []
    for number, kind in enumerate(kinds):
        if _is_set(absent, number):
            values.append(_text(long_data[number], kind & 0xFF, reading) if number in long_data else "''")
        else:
            values.append("NULL" if _is_set(nulls, number) else _value(at, kind, reading))
    return values


def _bulk(at: _Reading, reading: int) -> tuple[list[str], int]:
    """Return the values of the first row of a bulk execution, and the number of its rows."""
    n = at.lenenc()
    at.take(2)
    kinds = [at.integer(2) for _ in range(n)]
    first: list[str] = []
    rows = 0
    while n and at.at < len(at.data):
        row = [_bulk_value(at, kind, reading) for kind in kinds]
        first, rows = first or row, rows + 1
    return first, rows


def _bulk_value(at: _Reading, kind: int, reading: int) -> str:
    indicator = at.integer(1)
    return _value(at, kind, reading) if indicator == 0 else {1: "NULL"}.get(indicator, "DEFAULT")


def _long_data(parts: Sequence[bytes]) -> dict[int, bytes]:
    """Return the long data that was sent before an EXECUTE, by parameter number."""
    found: dict[int, bytes] = {}
    for part in parts:
        if part[:1] == b"L" and len(part) >= 3:
            number = int.from_bytes(part[1:3], "little")
            found[number] = found.get(number, b"") + part[3:]
    return found


def bound_values(params: bytes, long_data: Sequence[bytes] = (), reading: int = 0) -> tuple[list[str], str]:
    """Return the bound values of an execution as literals, and a note about the values.

    The note is "" if there is nothing to report. Raises ValueError if the values cannot be read.
    """
    letter, at = chr(params[0]), _Reading(params[1:])
    if letter == "S":
        own = at.string()
        return bound_values(own, long_data, reading) if own else ([], "")
    if letter in "EDN":
        return _execution(at, letter, _long_data(long_data), reading), ""
    if letter == "B":
        values, rows = _bulk(at, reading)
        return values, f"the first of {rows:,} rows of a bulk execution" if rows > 1 else ""
    if letter == "R":
        raise ValueError("unknown values: the statement was prepared before the capture began")
    return [], ""


def statement_text(
    statement: bytes | None, params: bytes | None = None, long_data: Sequence[bytes] | None = None, flags: int = 0
) -> str | None:
    """Return a statement as text with its values. Return None if the event has no statement.

    Comments before the statement report a redacted or truncated text and unknown values.
    """
    if statement is None:
        return None
    notes = [text for name, text in LIMITS if flags & FLAGS[name]]
    if flags & FLAGS["placeholder"] and params is None:
        notes.append("the value of each ? is unknown")
    if params is None or flags & FLAGS["unbound"] or params[:1] in (b"A", b"I"):
        return _with_notes(notes, statement)
    try:
        shown, more = _substituted(statement, params, list(long_data or ()))
    except (ValueError, KeyError, struct.error) as error:
        return _with_notes([*notes, str(error)], statement)
    return _with_notes([*notes, *more], shown)


def _substituted(statement: bytes, params: bytes, long_data: list[bytes]) -> tuple[bytes, list[str]]:
    """Return the statement with values in place of its placeholders, and notes about the values."""
    plain, note = bound_values(params, long_data)
    notes = [note] if note else []
    attributes = params[:1] == b"N"  # query attributes of the client follow the values of the statement
    for reading in READINGS:
        places = placeholders(statement, reading)
        if len(places) == len(plain) or (attributes and len(places) < len(plain)):
            values, _ = bound_values(params, long_data, reading)
            return _filled(statement, places, values), notes
    return statement, [*notes, f"values of this statement in order: {', '.join(plain)}"] if plain else notes


def _filled(statement: bytes, places: Sequence[int], values: Sequence[str]) -> bytes:
    parts, end = [], 0
    for place, value in zip(places, values, strict=False):
        parts += [statement[end:place], value.encode()]
        end = place + 1
    return b"".join([*parts, statement[end:]])


def _with_notes(notes: Sequence[str], statement: bytes) -> str:
    text = statement.decode("utf-8", "backslashreplace")
    return "".join(f"/* {note.replace('*/', '* /')} */ " for note in notes) + text


def define_texts(con: duckdb.DuckDBPyConnection) -> None:
    """Create view event_texts from view tape_events. Its column `text` holds each statement with its values."""
    con.create_function(
        "statement_text", statement_text, ["BLOB", "BLOB", "BLOB[]", "BIGINT"], "VARCHAR", null_handling=SPECIAL
    )
    con.execute(f"CREATE OR REPLACE TEMP VIEW companions AS {ddl('companions')}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW event_texts AS {ddl('event_texts')}")
