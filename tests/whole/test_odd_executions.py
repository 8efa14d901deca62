# SPDX-License-Identifier: Apache-2.0
"""Executions that differ from the protocol manual, as some drivers send them. The tape contains the values that the
server read.
"""

import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.native.bindings.parsers import open_packets
from querytape.servers.sandbox import Server

from tests.helpers.binary_client import EXECUTE, LONG_DATA, PREPARE
from tests.helpers.reading import read_all
from tests.helpers.relay import Relay

ATTRIBUTES = 0x8000000
HEAD, COUNTED = struct.pack("<BI", 0, 1), struct.pack("<BI", 8, 1)
INT, VALUE, OTHER = b"\x08\0", struct.pack("<q", 5), struct.pack("<q", 9)
NONE = b"E\0" + HEAD
FIVE, NINE, NULL = (b"E\1" + HEAD + tail for tail in (b"\0\1" + INT + VALUE, b"\0\1" + INT + OTHER, b"\1\1" + INT))
FIRST = HEAD + b"\0\1" + INT + VALUE
# Consecutive executions of `SELECT 7` (no parameter) or `SELECT ?`, and the parameters expected on the tape.
CASES: dict[str, tuple[str, list[bytes], list[bytes]]] = {
    "no parameters, one zero": ("7", [HEAD + b"\0"] * 2, [NONE] * 2),
    "no parameters, a one": ("7", [HEAD + b"\1"], [NONE]),
    "no parameters, flag of new types": ("7", [HEAD + b"\0\1"], [NONE]),
    "no parameters, twenty bytes": ("7", [HEAD + bytes(range(236, 256))], [NONE]),
    "no parameters, flag and count": ("7", [COUNTED + b"\0"], [NONE]),
    "no parameters, flag, count, one zero": ("7", [COUNTED + b"\0\0"], [NONE]),
    "followed by a zero byte": ("?", [FIRST + b"\0", HEAD + b"\0\0" + OTHER + b"\0\0"], [FIVE, NINE]),
    "followed by many bytes": ("?", [FIRST + b"\7" * 300], [FIVE]),
    "NULL with a value": ("?", [HEAD + b"\1\1" + INT + VALUE], [NULL]),
    "NULL bits without a parameter": ("?", [HEAD + b"\xfe\1" + INT + VALUE], [b"E\1" + HEAD + b"\xfe\1" + INT + VALUE]),
    "any flag of new types": ("?", [FIRST, HEAD + b"\0\2" + INT + OTHER, HEAD + b"\0\xff" + INT + VALUE], [FIVE, NINE, FIVE]),
    "NULL without types or a value": ("?", [HEAD + b"\1\1" + INT, HEAD + b"\1"], [NULL] * 2),
}  # fmt: skip
AGREED = {
    "no parameters, one zero": CASES["no parameters, one zero"],
    "no parameters, flag, count, one zero": CASES["no parameters, flag, count, one zero"],
    "parameter count, followed by a zero byte": ("?", [COUNTED + b"\1\0\1" + INT + b"\0" + VALUE + b"\0"], [FIVE]),
    "parameter count without the flag": ("?", [HEAD + b"\1\0\1" + INT + b"\0" + VALUE + b"\7\7"], [FIVE]),
}


def connect(port: int, flags: int) -> Any:
    """Open a connection with additional capability flags. The connection sends no SET NAMES, because PyMySQL cannot
    send query attributes with it.
    """
    con: Any = pymysql.connect(
        host="127.0.0.1",
        port=port,
        user="root",
        client_flag=flags,
        autocommit=None,
        ssl_disabled=True,
        defer_connect=True,
    )
    con.set_character_set = lambda *given: None
    con.connect()
    return con


def prepare(con: Any, columns: str) -> int:
    """Prepare a SELECT and return its statement id."""
    con._execute_command(PREPARE, f"SELECT {columns}")
    number, *counts = struct.unpack("<IHH", con._read_packet().get_all_data()[1:9])
    for count in counts[::-1]:
        while count and not con._read_packet().is_eof_packet():
            pass
    return int(number)


def execute(port: int, flags: int, columns: str, bodies: list[bytes]) -> list[int]:
    """Prepare and execute a statement. Return the error numbers. 0 means success."""
    errors = []
    with closing(connect(port, flags)) as con:
        number = prepare(con, columns)
        for body in bodies:
            con._execute_command(EXECUTE, struct.pack("<I", number) + body)
            try:
                con._read_packet()
                for _ in range(2):
                    while not con._read_packet().is_eof_packet():
                        pass
                errors.append(0)
            except pymysql.err.MySQLError as error:
                errors.append(error.args[0])
    return errors


def check(server: Server, flags: int, cases: dict[str, tuple[str, list[bytes], list[bytes]]], path: Path) -> set[str]:
    """Check that the executions which the server accepted are on the tape. Return the names of refused cases."""
    with Relay(server.port) as relay:
        errors = {name: execute(relay.port, flags, columns, bodies) for name, (columns, bodies, _) in cases.items()}
    read = read_all(open_packets([relay.write(path)], (3306,)))
    executed = iter(event for event in read.events if event["command"] == "execute")
    for name, (_, _, wanted) in cases.items():
        for error, params in zip(errors[name], wanted, strict=True):
            event = next(executed)
            assert (event["errno"], event["params"]) == (error, params), name
    assert read.kinds == []
    return {name for name, found in errors.items() if any(found)}


def test_accepted_executions_are_on_the_tape(server: Server, tmp_path: Path) -> None:
    """Servers ignore bytes after the values. Each server family refuses one of the tested packet forms."""
    refused = check(server, 0, CASES, tmp_path / "a.pcap")
    is_mariadb = "MariaDB" in server.execute("SELECT VERSION()")[0][0]
    assert refused == {"any flag of new types" if is_mariadb else "NULL without types or a value"}


def test_accepted_executions_with_query_attributes_are_on_the_tape(mysql80: Server, tmp_path: Path) -> None:
    """Client and server negotiated query attributes."""
    assert check(mysql80, ATTRIBUTES, AGREED, tmp_path / "a.pcap") == set()


@pytest.mark.parametrize("behind", [b"", b"\2zz"])
def test_long_data_overrides_the_value_in_the_execution(server: Server, behind: bytes, tmp_path: Path) -> None:
    """If a parameter was sent as long data, servers ignore its value in the EXECUTE packet."""
    with Relay(server.port) as relay, closing(connect(relay.port, 0)) as con:
        number = prepare(con, "?")
        con._execute_command(LONG_DATA, struct.pack("<IH", number, 0) + b"abc")
        con._execute_command(EXECUTE, struct.pack("<I", number) + HEAD + b"\0\1\xfd\0" + behind)
        rows = b"".join(con._read_packet().get_all_data() for _ in range(4))
    assert rows.count(b"\0\0\3abc") == 1
    events = read_all(open_packets([relay.write(tmp_path / "a.pcap")], (3306,))).events
    assert [e["params"] for e in events if e["command"] == "execute"] == [b"D\1\1" + HEAD + b"\0\1\xfd\0"]
