# SPDX-License-Identifier: Apache-2.0
"""Every column of a complete conversation equals the reviewed results. In further tests, segments are lost, repeated or
cut. QT_GOLDEN=write writes golden/packets.json again. Review the difference before you commit it.
"""

import random
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.parsers import open_packets

from tests.helpers.dialogue import (
    CLIENT,
    DEPRECATE_EOF,
    MYSQL_CAPS,
    QUERY_ATTRIBUTES,
    SERVER,
    SESSION_TRACK,
    Dialogue,
    Segment,
    column,
    eof,
    err,
    lenenc,
    ok,
    packet,
    rows,
    write_pcap,
)
from tests.helpers.golden import check_one, plain_row
from tests.helpers.reading import Read, read_quickly

GOLDEN = Path(__file__).parent / "golden" / "packets.json"
CAPS = {"old": MYSQL_CAPS, "new": MYSQL_CAPS | DEPRECATE_EOF | SESSION_TRACK, "named": MYSQL_CAPS | QUERY_ATTRIBUTES}


def prepared(statement: int, columns: int, params: int, caps: int) -> bytes:
    """Return the response to a PREPARE."""
    out, seq = packet(1, b"\0" + struct.pack("<IHHBH", statement, columns, params, 0, 1)), 2
    for count in (params, columns):
        for _ in range(count):
            out, seq = out + column(seq), seq + 1
        if count and not caps & DEPRECATE_EOF:
            out, seq = out + eof(seq), seq + 1
    return out


def binary_rows(values: list[bytes], caps: int, status: int = 2) -> bytes:
    """Return a binary result set."""
    out, seq = packet(1, b"\1") + column(2), 3
    if not caps & DEPRECATE_EOF:
        out, seq = out + eof(seq, status), seq + 1
    for value in values:
        out, seq = out + packet(seq, b"\0\0" + lenenc(value)), seq + 1
    return out + (ok(seq, status=status, header=0xFE) if caps & DEPRECATE_EOF else eof(seq, status))


class Talk:
    """A conversation after the login, with the capabilities of its client and server."""

    def __init__(self, caps: int) -> None:
        self.caps = caps
        self.dialogue = Dialogue().logged_in(caps)
        self.named = bool(caps & QUERY_ATTRIBUTES)
        self.query = b"\3" + (b"\0\1" if self.named else b"")

    def ask(self, text: bytes, answer: bytes) -> None:
        """Add a query and its response."""
        self.command(self.query + text, answer)

    def command(self, body: bytes, answer: bytes = b"") -> None:
        """Add a command, and its response if it has one."""
        self.dialogue.say(CLIENT, packet(0, body))
        if answer:
            self.dialogue.say(SERVER, answer)


def everything(caps: int) -> Dialogue:
    """Return a conversation with each command and each kind of response."""
    talk = Talk(caps)
    simple(talk, caps)
    statements(talk, caps)
    further(talk, caps)
    return talk.dialogue.close()


def simple(talk: Talk, caps: int) -> None:
    """Add queries, errors, multiple results and schema changes."""
    talk.ask(b"SELECT a FROM t", rows([b"1", b"", b"x" * 300], caps))
    talk.ask(b"INSERT INTO t VALUES (1)", packet(1, b"\0\1\7" + struct.pack("<HH", 2, 3)))
    talk.ask(b"INSERT INTO t VALUES (2)", packet(1, b"\0\xfc\0\1\xfd\1\2\3" + struct.pack("<HH", 3, 0)))
    talk.ask(b"UPDATE nope SET a = 1", err(1, 1146, b"Table 'shop.nope' doesn't exist"))
    talk.ask(
        b"CALL p()",
        rows([b"1"], caps, status=10) + rows([b"2"], caps, status=10, seq=5 + (not caps & DEPRECATE_EOF)) + ok(9, 4),
    )
    talk.command(b"\2crm", ok(1))
    talk.command(b"\2gone", err(1, 1049, b"Unknown database"))
    talk.command(b"\x0e", ok(1))
    talk.command(b"\x09", packet(1, b"Uptime: 1"))
    talk.command(b"\4t\0", column(1) + (ok(2, header=0xFE) if caps & DEPRECATE_EOF else eof(2)))


def statements(talk: Talk, caps: int) -> None:
    """Add prepared statements: parameter types that are sent once, NULLs, long data and a cursor."""
    count, name = (b"\3", b"\0") if talk.named else (b"", b"")
    cursor = packet(1, b"\1") + column(2) + (ok(3, status=66, header=0xFE) if caps & DEPRECATE_EOF else eof(3, 66))
    talk.command(b"\x16SELECT a FROM t WHERE b = ? AND c = ? AND d = ?", prepared(5, 1, 3, caps))
    types = b"\3\0" + name + b"\xfd\0" + name + b"\x0c\x80" + name
    values = struct.pack("<i", 42) + lenenc(b"text") + b"\7" + struct.pack("<HBBBBB", 2024, 6, 10, 8, 13, 20)
    head = struct.pack("<IBI", 5, 8 if count else 0, 1) + count
    talk.command(b"\x17" + head + b"\0\1" + types + values, binary_rows([b"r", b"s"], caps))
    talk.command(b"\x17" + head + b"\6\0" + struct.pack("<i", 43), binary_rows([], caps))
    talk.command(b"\x18" + struct.pack("<IH", 5, 1) + b"long ")
    talk.command(b"\x18" + struct.pack("<IH", 5, 1) + b"data")
    talk.command(b"\x17" + head + b"\4\0" + struct.pack("<i", 44), binary_rows([b"t"], caps))
    talk.command(b"\x17" + head + b"\0\0" + values, err(1, 1213, b"Deadlock found"))
    talk.command(b"\x1a" + struct.pack("<I", 5), ok(1))
    talk.command(
        b"\x17" + struct.pack("<IBI", 5, 1, 1) + count + b"\0\0" + values,
        cursor,
    )
    talk.command(b"\x1c" + struct.pack("<II", 5, 2), packet(1, b"\0\0" + lenenc(b"f")) + eof(2, 130))
    talk.command(b"\x19" + struct.pack("<I", 5))


def further(talk: Talk, caps: int) -> None:
    """Add local files, session tracking, multi-statements, pipelining, another login and unknown commands."""
    talk.command(b"\x16SELEC", err(1, 1064, b"You have an error"))
    talk.command(b"\x1b\0\0", ok(1, header=0xFE) if caps & DEPRECATE_EOF else eof(1))
    talk.ask(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t", packet(1, b"\xfbx"))
    talk.dialogue.say(CLIENT, packet(2, b"1\ta\n") + packet(3, b"2\tb\n") + packet(4, b"")).say(
        SERVER, ok(5, affected=2, warnings=1)
    )
    if caps & SESSION_TRACK:
        change = b"\1" + lenenc(lenenc(b"tracked")) + b"\0" + lenenc(lenenc(b"autocommit") + lenenc(b"OFF"))
        talk.ask(b"SET autocommit=0", ok(1, status=0x4000, more=lenenc(b"info") + lenenc(change)))
    talk.ask(b"START TRANSACTION", ok(1, status=3))
    talk.ask(
        b"SELECT 1; SELECT 2; INSERT INTO t VALUES (3)",
        rows([b"1"], caps, status=11) + rows([b"2"], caps, status=11, seq=6) + ok(12, 1, 3, 5),
    )
    talk.dialogue.say(CLIENT, packet(0, talk.query + b"SELECT 3") + packet(0, talk.query + b"SELECT 4"))
    talk.dialogue.say(SERVER, rows([b"3"], caps) + rows([b"4", b"4"], caps))
    talk.command(b"\x1f", ok(1))
    talk.command(b"\x11bob\0\x14" + bytes(20) + b"other\0" + struct.pack("<H", 45) + b"mysql_native_password\0", ok(1))
    talk.ask(b"SELECT 5", rows([b"5"], caps))
    talk.command(b"\x0c" + struct.pack("<I", 9), err(1, 1094, b"Unknown thread id"))
    talk.command(b"\x0a", rows([b"p"], caps))
    talk.command(b"\x7a\1\2\3", err(1, 1047, b"Unknown command"))
    talk.ask(b"SELECT SLEEP(9)", b"")


def read(path: Path) -> Read:
    """Read a capture file to its end."""
    return read_quickly(open_packets([path], (3306,)))


def plain(found: Read) -> dict[str, Any]:
    """Return the events and problems in JSON form. Unknown columns are left out of each row."""
    return {
        "events": [plain_row(event) for event in sorted(found.events, key=lambda e: (e["session"], e["seq"]))],
        "problems": [plain_row(problem) for problem in found.problems],
        "description": found.description,
    }


@pytest.mark.parametrize("name", CAPS)
def test_packets_match_the_golden_file(name: str, tmp_path: Path) -> None:
    """The test compares events, problems and the description of the capture file."""
    check_one(GOLDEN, name, plain(read(write_pcap(tmp_path / "a.pcap", [everything(CAPS[name])]))))


def lost(segments: list[Segment], at: int) -> list[Segment]:
    """Remove one segment."""
    return segments[:at] + segments[at + 1 :]


def twice(segments: list[Segment], at: int) -> list[Segment]:
    """Send one segment again later."""
    return [*segments[: at + 4], segments[at], *segments[at + 4 :]]


def late(segments: list[Segment], at: int) -> list[Segment]:
    """Move one segment after the next two."""
    return [*segments[:at], *segments[at + 1 : at + 3], segments[at], *segments[at + 3 :]]


def cut(segments: list[Segment], at: int) -> list[Segment]:
    """Cut one segment, as a snapshot length does."""
    return [*segments[:at], replace(segments[at], cut=len(segments[at].payload) // 2), *segments[at + 1 :]]


def garbled(segments: list[Segment], at: int) -> list[Segment]:
    """Change bytes of one segment."""
    other = random.Random(at).randbytes(len(segments[at].payload))
    return [*segments[:at], replace(segments[at], payload=other), *segments[at + 1 :]]


def ended(segments: list[Segment], at: int) -> list[Segment]:
    """End the capture at this segment."""
    return segments[: at + 1]


def begun(segments: list[Segment], at: int) -> list[Segment]:
    """Begin the capture at this segment."""
    return segments[at:]


HURTS: list[Callable[[list[Segment], int], list[Segment]]] = [lost, twice, late, cut, garbled, ended, begun]
KEYS = (
    "command",
    "statement",
    "stmt",
    "params",
    "errno",
    "error",
    "rows_sent",
    "rows_affected",
    "insert_id",
    "user",
    "db",
)


@pytest.mark.long
@pytest.mark.parametrize("hurt", HURTS, ids=[each.__name__ for each in HURTS])
@pytest.mark.parametrize("name", CAPS)
def test_damaged_segments_give_no_invented_statement(
    name: str, hurt: Callable[[list[Segment], int], list[Segment]], tmp_path: Path
) -> None:
    """Repeated and late segments do not change the events. Missing bytes of lost and cut segments are reported."""
    dialogue, file = everything(CAPS[name]), tmp_path / "a.pcap"

    def read_back(segments: list[Segment]) -> tuple[Counter[tuple[Any, ...]], int, dict[str, Any]]:
        found = read(write_pcap(file, [(dialogue, segment) for segment in segments]))
        size = file.stat().st_size
        assert all(0 <= row["offset"] <= size for row in [*found.events, *found.problems])
        return (
            Counter(tuple(event[key] for key in KEYS) for event in found.events),
            len(found.problems),
            found.description,
        )

    whole, problems, description = read_back(dialogue.segments)
    statements = [statement or b"" for _, statement, *_ in whole]
    for at in range(1, len(dialogue.segments)):
        events, more, said = read_back(hurt(dialogue.segments, at))
        if hurt in (twice, late):
            assert events == whole, at
        elif hurt is not garbled:
            assert events == whole or more > problems or said != description, at
            for _, statement, *_ in events:
                assert any(one.startswith(statement or b"") for one in statements), (at, statement)
