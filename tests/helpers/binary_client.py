# SPDX-License-Identifier: Apache-2.0
"""Prepared statements of the binary protocol on a PyMySQL connection. PyMySQL itself does not support them."""

import struct
from typing import Any

PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET = 0x16, 0x17, 0x18, 0x19, 0x1A
NULL, INT, TEXT = 6, 8, 253


class Prepared:
    """A prepared statement. Parameters are integers, strings and None."""

    def __init__(self, con: Any, sql: str) -> None:
        self._con = con
        self._con._execute_command(PREPARE, sql)
        head = self._con._read_packet().get_all_data()
        self.number, columns, self._params = struct.unpack("<IHH", head[1:9])
        for count in (self._params, columns):
            if count:
                self._skip_to_end()

    def execute(self, *values: int | str | None) -> None:
        """Execute the statement and discard its rows. Pass the text "long" for a value that was sent as long data."""
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
        """Send one value in advance as long data. The server does not reply."""
        self._con._execute_command(LONG_DATA, struct.pack("<IH", self.number, param) + value)

    def reset(self) -> None:
        """Reset the statement, which discards its long data."""
        self._con._execute_command(RESET, struct.pack("<I", self.number))
        self._con._read_packet()

    def close(self) -> None:
        """Close the statement. The server does not reply."""
        self._con._execute_command(CLOSE, struct.pack("<I", self.number))

    def _skip_to_end(self) -> None:
        while not self._con._read_packet().is_eof_packet():
            pass


def kind_of(value: int | str | None) -> int:
    """Return the protocol's type number for a value."""
    return NULL if value is None else INT if isinstance(value, int) else TEXT


def bytes_of(value: int | str | None) -> bytes:
    """Return the bytes of a value in an EXECUTE packet.

    The text "long" has no bytes, because its value was sent earlier.
    """
    if value is None or value == "long":
        return b""
    if isinstance(value, int):
        return struct.pack("<q", value)
    return bytes([len(value)]) + value.encode()
