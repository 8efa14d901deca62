# SPDX-License-Identifier: Apache-2.0
"""Each byte is replaced, in a complete conversation and in capture files of a short one. Protocol rules depend on
single bytes, such as a length, a flag, a header or a number of columns. For each byte value, the file is read to its
end or refused. Each event and problem has a place inside the file. `told` returns all results of a read, so that two
versions of querytape can be compared.
"""

import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.parsers import open_packets

from tests.capture.sources.test_packets_golden import CAPS, everything, plain
from tests.helpers.dialogue import CLIENT, MYSQL_CAPS, SERVER, Dialogue, Segment, ok, query, rows, write_pcap
from tests.helpers.encrypted import pcapng
from tests.helpers.reading import check_places, read_quickly

pytestmark = pytest.mark.slow

BYTES = (0, 1, 2, 3, 4, 5, 9, 0x0A, 0x16, 0x17, 0x20, 0x40, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF)
SENT = set("SELECT 012, 'x?")  # bytes of the statements, not of the protocol around them
LINKS = [
    ("ethernet", 4),
    ("ethernet", 6),
    ("vlan", 4),
    ("qinq", 6),
    ("sll", 4),
    ("sll2", 6),
    ("null", 4),
    ("null_big", 6),
    ("raw", 4),
]


def read_checked(path: Path) -> dict[str, Any] | None:
    """Return all results of reading a file, or None if the file is refused. Check the places of all events and problems
    first.
    """
    try:
        found = plain(read_quickly(open_packets([path], (3306,))))
    except NativeFault:
        return None
    check_places(found, path)
    assert all(event.get("duration_ns", 0) >= 0 for event in found["events"])
    return found


def short_talk() -> Dialogue:
    """Return a conversation of two queries."""
    talk = Dialogue().logged_in(MYSQL_CAPS)
    return talk.ask(b"SELECT a", rows([b"1"], MYSQL_CAPS)).ask(b"INSERT b", ok(1, 1)).close()


@pytest.mark.long
@pytest.mark.parametrize("name", CAPS)
def test_altered_payload_bytes_are_read_to_the_end(name: str, tmp_path: Path) -> None:
    """Single bytes at many places of a segment are replaced, one after another. The length of the segment stays the
    same.
    """
    dialogue = everything(CAPS[name])
    for at, segment in enumerate(dialogue.segments):
        places = range(len(segment.payload))
        chance = random.Random(f"{name} {at}")
        for place in places if len(places) < 24 else sorted(chance.sample(places, 16 + len(places) // 6)):
            byte = bytes([chance.choice([*BYTES, segment.payload[place] ^ 1, segment.payload[place] ^ 0x10])])
            payload = segment.payload[:place] + byte + segment.payload[place + 1 :]
            pairs = [(dialogue, replace(one, payload=payload) if one is segment else one) for one in dialogue.segments]
            assert read_checked(write_pcap(tmp_path / "a.pcap", pairs)) is not None, (at, place)


@pytest.mark.long
@pytest.mark.parametrize(("link", "version"), LINKS)
def test_altered_frame_headers_are_read_to_the_end(link: str, version: int, tmp_path: Path) -> None:
    """Each byte of the link, IP and TCP headers is replaced in some of the packets."""
    whole = write_pcap(tmp_path / "a.pcap", [short_talk()], link, version=version).read_bytes()
    starts, at = [], 24
    while at < len(whole):
        starts.append(at)
        at += 16 + struct.unpack_from("<I", whole, at + 8)[0]
    headers = starts[4] - starts[3] - len(short_talk().segments[3].payload)
    for place in range(24 if link == "ethernet" else 0):
        (tmp_path / "b.pcap").write_bytes(whole[:place] + b"\7" + whole[place + 1 :])
        read_checked(tmp_path / "b.pcap")
    for place in range(headers):
        chance = random.Random(f"{link} {version} {place}")
        for start in chance.sample(starts, 3):
            here = start + place
            byte = bytes([chance.choice([*BYTES, whole[here] ^ 1, (whole[here] + 1) & 255, (whole[here] - 1) & 255])])
            (tmp_path / "b.pcap").write_bytes(whole[:here] + byte + whole[here + 1 :])
            assert read_checked(tmp_path / "b.pcap") is not None, (place, start)


def test_capture_file_may_end_anywhere(tmp_path: Path) -> None:
    """A pcap or pcapng file is cut at each byte in turn."""
    whole = write_pcap(tmp_path / "a.pcap", [short_talk()])
    (tmp_path / "keys").write_bytes(b"CLIENT_RANDOM 00 11\n")
    files = [
        whole,
        pcapng(tmp_path / "a.pcapng", whole, tmp_path / "keys"),
        pcapng(tmp_path / "b.pcapng", whole, tmp_path / "keys", ">"),
    ]
    for file in files:
        content, events = file.read_bytes(), 0
        for size in [*range(60), *range(60, len(content), 7)]:
            (tmp_path / "cut").write_bytes(content[:size])
            found = read_checked(tmp_path / "cut")
            assert found is not None or size < 60, size
            assert len(found["events"] if found else []) >= events, size
            events = len(found["events"] if found else [])


def segments_of(chance: random.Random) -> list[tuple[Dialogue, Segment]]:
    """Return segments of three conversations. Two of the conversations use the same ports. Some segments are moved,
    cut, joined or lost.
    """
    talks = [Dialogue(40000 + (n + 1) // 2 % 2, (chance.choice([1000, 0xFFFFFF00]), 5000 + n)) for n in range(3)]
    pairs: list[tuple[Dialogue, Segment]] = []
    for n, talk in enumerate(talks):
        talk.logged_in(MYSQL_CAPS)
        for turn in range(3):
            talk.say(
                CLIENT, query(b"SELECT %d, '%s'" % (turn, b"x" * chance.choice([1, 40]))), chance.choice([3, 20, 1400])
            )
            talk.say(SERVER, rows([b"%d" % n] * chance.choice([0, 3]), MYSQL_CAPS), chance.choice([7, 50, 1400]))
        if chance.random() < 0.7:
            talk.close()
        elif chance.random() < 0.5:
            talk.raw(chance.choice([CLIENT, SERVER]), b"", 0x04)
        at = len(pairs) if chance.random() < 0.5 else chance.randrange(len(pairs) + 1)
        pairs[at:at] = [(talk, segment) for segment in talk.segments]
    for _ in range(chance.randrange(8)):
        at, to = chance.randrange(len(pairs)), chance.randrange(len(pairs))
        talk, one = pairs[at]
        way = chance.randrange(6)
        if way == 0:
            pairs.insert(min(to, at + 5), pairs.pop(at))
        elif way == 1:
            pairs.insert(to, (talk, one))
        elif way == 2:
            del pairs[at]
        elif way == 3 and len(one.payload) > 1:  # second half is sent again, with more bytes after it
            half = len(one.payload) // 2
            again = replace(
                one, seq=(one.seq + half) & 0xFFFFFFFF, payload=one.payload[half:] + b"?" * chance.choice([0, 4])
            )
            pairs.insert(at + 1, (talk, again))
        elif way == 4:
            pairs[at] = (talk, replace(one, seq=(one.seq + chance.choice([-1, 1, 1 << 31, 70_000])) & 0xFFFFFFFF))
        else:
            pairs[at] = (talk, replace(one, flags=one.flags ^ chance.choice([1, 2, 4, 0x10])))
    return pairs


@pytest.mark.long
def test_disturbed_streams_are_read_to_the_end(tmp_path: Path) -> None:
    """The conversations are interleaved. Segments are moved, lost, repeated, overlapping or renumbered. Some have other
    flags, or many bytes are missing before them.
    """
    for seed in range(600):
        chance = random.Random(seed)
        pairs = segments_of(chance)
        stamps, now = [], 1_718_000_000_000_000
        for _ in pairs:
            now += chance.choice([0, 1, 100, 100, 100, -50, 40_000_000 if chance.random() < 0.1 else 5])
            stamps.append(now)
        found = read_checked(write_pcap(tmp_path / "a.pcap", pairs, stamps_us=stamps))
        assert found is not None, seed
        for event in found["events"]:
            assert set(event.get("statement", "")) <= SENT, (seed, event)
