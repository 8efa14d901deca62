# SPDX-License-Identifier: Apache-2.0
"""Prepared statements of the binary protocol over a PyMySQL connection, which has none of its own."""

import struct
from typing import Any

PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET = 0x16, 0x17, 0x18, 0x19, 0x1A
NULL, INT, TEXT = 6, 8, 253


class Prepared:
    """One statement, prepared. Parameters are whole numbers, texts and None."""

    def __init__(self, con: Any, sql: str) -> None:
        self._con = con
        self._con._execute_command(PREPARE, sql)
        head = self._con._read_packet().get_all_data()
        self.number, columns, self._params = struct.unpack("<IHH", head[1:9])
        for count in (self._params, columns):
            if count:
                self._skip_to_end()

    def execute(self, *values: int | str | None) -> None:
        """Execute it, and pass over its rows. A value that was sent as long data is given as the text "long"."""
        body = struct.pack("<IBI", self.number, 0, 1)
        if values:
            nulls = sum(1 << place for place, value in enumerate(values) if value is None)
            body += nulls.to_bytes((len(values) + 7) // 8, "little") + b"\1"
            body += b"".join(struct.pack("<H", kind_of(value)) for value in values)
            body += b"".join(bytes_of(value) for value in values)
        self._con._execute_command(EXECUTE, body)
        first = self._con._read_packet()
        if not first.is_ok_packet():
            self._skip_to_end()
            self._skip_to_end()

    def send_long(self, param: int, value: bytes) -> None:
        """Send one value in advance; nothing answers."""
        self._con._execute_command(LONG_DATA, struct.pack("<IH", self.number, param) + value)

    def reset(self) -> None:
        """Forget long data."""
        self._con._execute_command(RESET, struct.pack("<I", self.number))
        self._con._read_packet()

    def close(self) -> None:
        """Close it; nothing answers."""
        self._con._execute_command(CLOSE, struct.pack("<I", self.number))

    def _skip_to_end(self) -> None:
        while not self._con._read_packet().is_eof_packet():
            pass


def kind_of(value: int | str | None) -> int:
    """Return the type's number in the protocol."""
    return NULL if value is None else INT if isinstance(value, int) else TEXT


def bytes_of(value: int | str | None) -> bytes:
    """Return the value's bytes in an EXECUTE; the text "long" was sent in advance."""
    if value is None or value == "long":
        return b""
    if isinstance(value, int):
        return struct.pack("<q", value)
    return bytes([len(value)]) + value.encode()
