# SPDX-License-Identifier: Apache-2.0
"""Server responses with and without the negotiated options about metadata: results, counts and warnings. The next
command must be read after each response.
"""

import random
import struct
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.dialogue import (
    CLIENT,
    DEPRECATE_EOF,
    MYSQL_CAPS,
    QUERY_ATTRIBUTES,
    SERVER,
    Dialogue,
    column,
    eof,
    err,
    greeting,
    lenenc,
    login,
    ok,
    packet,
    query,
    write_pcap,
)
from tests.helpers.reading import events

OPTIONAL_METADATA, CACHE_METADATA = 0x2000000, 1 << 36
MARIADB_CAPS = MYSQL_CAPS & ~1
AGREED = [
    base | eof_bit | metadata
    for base, eof_bit in product((MYSQL_CAPS, MARIADB_CAPS), (0, DEPRECATE_EOF))
    for metadata in ((0, OPTIONAL_METADATA) if base & 1 else (0, CACHE_METADATA))
]
MORE = 10  # status flags: autocommit, more results follow


def opened(caps: int) -> Dialogue:
    """Return a conversation with a login. MariaDB's own capability flags are in the filler bytes."""
    upper = struct.pack("<I", caps >> 32)
    hello, answer = greeting(caps & 0xFFFFFFFF), login(caps & 0xFFFFFFFF)
    hello, answer = hello[:39] + upper + hello[43:], answer[:32] + upper + answer[36:]
    return Dialogue().open().say(SERVER, hello).say(CLIENT, answer).say(SERVER, ok(2))


class Server:
    """A server whose response packets have consecutive sequence numbers."""

    def __init__(self, caps: int, chance: random.Random) -> None:
        self.caps, self.chance = caps, chance

    def result(self, binary: bool, more: bool, warnings: int) -> tuple[bytes, int]:
        """Return a result set and its number of rows. Column definitions are left out if client and server agreed on
        that.
        """
        count, number = self.chance.randrange(1, 4), self.chance.choice([0, 1, 1, 3])
        follows = 1
        head = lenenc(b"x" * count)[:1]
        if self.caps & (OPTIONAL_METADATA | CACHE_METADATA):
            follows = self.chance.randrange(2) if self.caps & CACHE_METADATA else 1
            head = bytes([follows]) + head if self.caps & OPTIONAL_METADATA else head + bytes([follows])
            if self.caps & CACHE_METADATA and follows and self.chance.random() < 0.5:
                head = head[:1]  # column definitions follow if the flag byte is missing
        parts = [head] + [column(0)[4:]] * (count * follows)
        if not self.caps & DEPRECATE_EOF:
            parts.append(eof(0)[4:])
        value = self.chance.choice([b"", b"text", b"\xfe" * 9])
        row = b"\0" + bytes((count + 9) // 8) + lenenc(value) * count if binary else lenenc(value) * count
        parts += [row] * number
        status = MORE if more else 2
        end = (
            ok(0, status=status, header=0xFE, warnings=warnings)
            if self.caps & DEPRECATE_EOF
            else eof(0, status, warnings)
        )
        return self.numbered([*parts, end[4:]]), number

    @staticmethod
    def numbered(payloads: list[bytes], first: int = 1) -> bytes:
        """Return the payloads as packets with sequence numbers."""
        return b"".join(packet(first + n, payload) for n, payload in enumerate(payloads))

    def prepared(self, number: int, params: int) -> bytes:
        """Return the response to a PREPARE with parameters and columns."""
        columns = self.chance.randrange(3)
        head = b"\0" + struct.pack("<IHH", number, columns, params) + b"\0" + struct.pack("<H", 0)
        follows = 1
        if self.caps & OPTIONAL_METADATA:
            follows = self.chance.randrange(2)
            head += bytes([follows])
        parts = [head]
        for some in (params, columns):
            if some and follows:
                parts += [column(0)[4:]] * some + ([] if self.caps & DEPRECATE_EOF else [eof(0)[4:]])
        return self.numbered(parts)


@pytest.mark.parametrize("caps", AGREED, ids=hex)
@pytest.mark.parametrize("seed", range(4))
def test_each_command_has_its_own_response(caps: int, seed: int, tmp_path: Path) -> None:
    """Each of many consecutive commands has its own rows, warnings and error number."""
    chance = random.Random(seed)
    server, dialogue = Server(caps, chance), opened(caps)
    wanted: list[tuple[Any, ...]] = []
    for turn in range(60):
        text = b"SELECT %d" % turn
        way, warnings = chance.randrange(6), chance.choice([0, 1, 300])
        if way == 0:
            dialogue.ask(text, ok(1, turn, warnings=warnings))
            wanted.append(("query", text, None, turn, warnings, 0))
        elif way == 1:
            dialogue.ask(text, err(1, 1000 + turn, b"no"))
            wanted.append(("query", text, None, None, None, 1000 + turn))
        elif way == 2:
            params = chance.randrange(3)
            dialogue.say(CLIENT, packet(0, b"\x16" + text)).say(SERVER, server.prepared(turn, params))
            wanted.append(("prepare", text, None, None, 0, 0))
            if params > 0:
                continue
            dialogue.say(CLIENT, packet(0, b"\x17" + struct.pack("<IBI", turn, 0, 1)))
            answer, number = server.result(True, False, warnings)
            dialogue.say(SERVER, answer)
            wanted.append(("execute", None, number, None, warnings, 0))
        else:
            total, answer, results = 0, b"", chance.choice([1, 1, 2, 3])
            for result in range(results):
                some, number = server.result(False, result < results - 1, warnings)
                answer, total = answer + some, total + number
            dialogue.say(CLIENT, query(text)).say(SERVER, renumbered(answer))
            wanted.append(("query", text, total, None, warnings, 0))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    assert problems == []
    got = [
        (e["command"], e["statement"] if e["command"] != "execute" else None, e["rows_sent"], e["rows_affected"],
         e["warnings"], e["errno"])
        for e in found[1:-1]
    ]  # fmt: skip
    assert [row[:3] + row[4:] for row in got] == [row[:3] + row[4:] for row in wanted]
    assert [row[3] for row in got if row[2] is None] == [row[3] for row in wanted if row[2] is None]


def renumbered(answer: bytes) -> bytes:
    """Return the packets with sequence numbers from 1 on."""
    out, at, number = b"", 0, 1
    while at < len(answer):
        size = int.from_bytes(answer[at : at + 3], "little")
        out += packet(number & 255, answer[at + 4 : at + 4 + size])
        at, number = at + 4 + size, number + 1
    return out


@pytest.mark.parametrize("count", range(11))
def test_query_attributes_are_found_without_the_login(count: int, tmp_path: Path) -> None:
    """The capture missed the login, so it is unknown whether query attributes are used. Up to eight values before a
    statement are read as attributes. More values are read as text.
    """
    dialogue = Dialogue().logged_in()
    before = len(dialogue.segments)
    dialogue.ask(b"SELECT 0", ok(1))  # the capture begins here
    for _ in range(2):
        nulls = bytes((count + 7) // 8) + b"\1" if count else b""
        names = b"".join(b"\xfd\0" + lenenc(b"n%d" % n) for n in range(count))
        values = b"".join(lenenc(b"v%d" % n) for n in range(count))
        dialogue.say(CLIENT, packet(0, b"\3" + bytes([count, 1]) + nulls + names + values + b"SELECT 1")).say(
            SERVER, ok(1)
        )
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [(dialogue, s) for s in dialogue.segments[before:]]))
    texts = [e["statement"] for e in found if e["command"] == "query"]
    assert (texts[0], len(texts)) == (b"SELECT 0", 3)
    assert all((text == b"SELECT 1") is (count <= 8) for text in texts[1:])


@pytest.mark.parametrize("count", [1, 250, 251, 65_535])
def test_maximum_number_of_query_attributes_is_read(count: int, tmp_path: Path) -> None:
    """The SQL text begins after the last query attribute."""
    number = bytes([count]) if count < 251 else b"\xfc" + struct.pack("<H", count)
    body = b"\3" + number + b"\1" + b"\xff" * ((count + 7) // 8) + b"\1" + b"\xfd\0\0" * count + b"SELECT 1"
    dialogue = (
        Dialogue().logged_in(MYSQL_CAPS | QUERY_ATTRIBUTES).say(CLIENT, packet(0, body)).say(SERVER, ok(1)).close()
    )
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert ([e["statement"] for e in found], problems) == ([None, b"SELECT 1", None], [])
