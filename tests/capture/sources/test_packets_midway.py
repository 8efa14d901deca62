# SPDX-License-Identifier: Apache-2.0
"""A capture that joins a connection at any of its commands reads all later commands, compressed or not."""

import zlib
from pathlib import Path

import pytest
from querytape.native.bindings.parsers import open_packets

from tests.capture.sources.test_packets_golden import CAPS, everything
from tests.helpers.dialogue import CLIENT, SERVER, Dialogue, Segment, ok, packet, write_pcap
from tests.helpers.reading import Read, events, read_all

pytestmark = pytest.mark.slow

LOGIN = 6  # number of segments before the first command
SMALLEST = 50  # minimum packet size in bytes that clients and servers compress


def frame(segment: Segment, packed: bool) -> bytes:
    """Return the packets of a segment as one compressed packet. Small packets stay uncompressed."""
    payload, seq = segment.payload, bytes([0 if segment.way == CLIENT else 1])
    if not payload:
        return b""
    if not packed or len(payload) < SMALLEST:
        return len(payload).to_bytes(3, "little") + seq + bytes(3) + payload
    body = zlib.compress(payload)
    return len(body).to_bytes(3, "little") + seq + len(payload).to_bytes(3, "little") + body


def joined(path: Path, whole: Dialogue, first: int, kind: str) -> Read:
    """Read a conversation from the given segment on."""
    talk = Dialogue()
    for one in whole.segments[first:]:
        if one.payload:
            talk.say(one.way, one.payload if kind == "plain" else frame(one, kind == "packed"))
    return read_all(open_packets([write_pcap(path, [talk])], (3306,)))


def texts(read: Read) -> list[bytes | None]:
    """Return the statements of all events, in order."""
    return [event["statement"] for event in read.events if event["command"] == "query"]


@pytest.mark.parametrize("kind", ["plain", "stored", "packed"])
@pytest.mark.parametrize("name", CAPS)
def test_capture_that_joins_late_reads_all_later_commands(name: str, kind: str, tmp_path: Path) -> None:
    """Later events are in order, and the reader invents no login."""
    talk = everything(CAPS[name])
    places = [place for place, one in enumerate(talk.segments) if place >= LOGIN and one.way == CLIENT and one.payload]
    assert len(places) > 20
    everywhere = texts(read_all(open_packets([write_pcap(tmp_path / "whole.pcap", [talk])], (3306,))))
    for place in places[:20:2]:
        found = joined(tmp_path / "a.pcap", talk, place, kind)
        asked = sum(one.way == CLIENT and one.payload[4:5] == b"\3" for one in talk.segments[place:])
        assert len(texts(found)) >= asked
        assert texts(found) == everywhere[len(everywhere) - len(texts(found)) :]
        assert found.events[0]["user"] is None
        assert "joined_midway" in found.kinds


@pytest.mark.sampled
@pytest.mark.parametrize("mss", [20, 1400])
@pytest.mark.parametrize("kind", [3, 0x16])
@pytest.mark.parametrize("size", [0x030317 - 1, 0x030317, 0x030317 + 1, 0x010317, 0x030017])
def test_command_that_looks_like_tls_is_read(kind: int, size: int, mss: int, tmp_path: Path) -> None:
    """The length bytes of the command equal the first bytes of a TLS record."""
    talk = Dialogue()
    text = b"SELECT '%s'" % (b"x" * (size - 10))
    talk.say(CLIENT, packet(0, bytes([kind]) + text), mss).say(SERVER, ok(1))
    talk.ask(b"SELECT 2", ok(1))
    read = read_all(open_packets([write_pcap(tmp_path / "a.pcap", [talk])], (3306,)))
    assert [len(event["statement"]) for event in read.events if event["statement"]] == [len(text), 8]
    assert read.description["encrypted"] == 0


@pytest.mark.parametrize("size", [256, 300, 4000, 16_000])
def test_encrypted_connection_in_mid_stream_is_counted(size: int, tmp_path: Path) -> None:
    """The capture begins after the TLS handshake. A TLS record is complete or continues in the next segment."""
    talk = Dialogue()
    for way in (CLIENT, SERVER, CLIENT, SERVER):
        talk.say(way, b"\x17\x03\x03" + size.to_bytes(2, "big") + bytes(n * 7 % 251 for n in range(size)))
    read = read_all(open_packets([write_pcap(tmp_path / "a.pcap", [talk])], (3306,)))
    assert (read.events, read.description["encrypted"]) == ([], 1)


@pytest.mark.parametrize("kind", [*range(0x1E), 0xFA, 0xFB])
def test_only_text_and_value_commands_may_continue_in_the_next_segment(kind: int, tmp_path: Path) -> None:
    """Commands with query text or bound values may span segments. A long command of another kind is invalid, and its
    bytes are skipped.
    """
    long_ones = {2: "init_db", 3: "query", 0x16: "prepare", 0x17: "execute", 0x18: "long_data", 0xFA: "bulk_execute"}
    talk = Dialogue().say(CLIENT, packet(0, bytes([kind]) + b"x" * 3000)).say(SERVER, ok(1)).ask(b"SELECT 2", ok(1))
    read = read_all(open_packets([write_pcap(tmp_path / "a.pcap", [talk])], (3306,)))
    wanted = [long_ones[kind], "query"] if kind in long_ones else ["query"]
    assert [event["command"] for event in read.events] == wanted
    assert read.kinds[0] == "joined_midway"


def test_missing_bytes_make_the_sql_mode_unknown(tmp_path: Path) -> None:
    """The missing bytes may contain a SET. A statement then counts as dangerous if it is dangerous in any sql_mode."""
    both_ways = b"SELECT '\\' INTO OUTFILE '/x' -- '"
    dialogue = Dialogue().logged_in().ask(b"SET sql_mode = ''", ok(1)).ask(both_ways, ok(1)).ask(b"SELECT 1", ok(1))
    lost = dialogue.segments[-2:]
    dialogue.ask(both_ways, ok(1)).close()
    missing: list[list[Segment]] = [[], lost, lost[:1], lost[1:]]
    for gone in missing:
        kept = [(dialogue, segment) for segment in dialogue.segments if segment not in gone]
        found, problems, _ = events(write_pcap(tmp_path / "a.pcap", kept))
        dangers = [int(event["flags"]) >> 16 & 255 for event in found if event["statement"] == both_ways]
        assert dangers == [0, 7 if gone else 0]
        assert set(problems) == ({"lost_packets"} if gone else set())
