# SPDX-License-Identifier: Apache-2.0
"""Foreign protocols on the server's port, MySQL on other ports, split PROXY headers, and pcapng interfaces."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.parsers import open_packets
from querytape.schemas import FLAGS

from tests.helpers.command_line import run_here
from tests.helpers.dialogue import (
    CLIENT,
    MYSQL_CAPS,
    SERVER,
    Dialogue,
    greeting,
    ip4,
    login,
    ok,
    packet,
    rows,
    tcp,
    write_pcap,
)
from tests.helpers.reading import events, read_all, statements_and_results

UNBOUND = FLAGS["unbound"]
V1 = b"PROXY TCP4 203.0.113.9 10.0.0.1 51234 3306\r\n"
V2 = (
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x10"
    + bytes([203, 0, 113, 9, 10, 0, 0, 1])
    + struct.pack(">HH", 51234, 3306)
    + b"\4\0\1\0"
)


def shop(port: int = 40000, midway: bool = False) -> Dialogue:
    """Return a conversation of three commands."""
    dialogue = Dialogue(port)
    return (dialogue if midway else dialogue.logged_in()).ask(b"SELECT 1", rows([b"1"])).close()


@pytest.mark.slow
@pytest.mark.parametrize("header", [V1, V2])
def test_split_proxy_header_gives_the_client_address(header: bytes, tmp_path: Path) -> None:
    """The PROXY header is split into two segments at each byte in turn. It is also sent byte by byte."""
    for cut in range(len(header) + 1):
        dialogue = Dialogue().open()
        for piece in (header[:cut], header[cut:]) if cut else [header[at : at + 1] for at in range(len(header))]:
            dialogue.say(CLIENT, piece)
        dialogue.say(SERVER, greeting(MYSQL_CAPS)).say(CLIENT, login(MYSQL_CAPS)).say(SERVER, ok(2))
        found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
        assert ([e["command"] for e in found], {e["host"] for e in found}, problems) == (
            ["connect", "quit"], {"203.0.113.9"}, []
        ), cut  # fmt: skip


def test_invalid_proxy_header_gives_no_event(tmp_path: Path) -> None:
    """The connection ends inside the PROXY header, or the header continues with other data."""
    for sent in (b"P", b"PROXY TCP4 1.2.3.4", b"\r\n\r\nGET / HTTP/1.1\r\n\r\n", V2[:20], b"PROXY " + b"x" * 200):
        dialogue = Dialogue().open().say(CLIENT, sent)
        found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
        assert found == []
        assert ("no_event" in problems) == (len(sent) >= 5), sent


FOREIGN = {
    "http": [(CLIENT, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), (SERVER, b"HTTP/1.1 200 OK\r\n\r\nx")],
    "redis": [(CLIENT, b"*1\r\n$4\r\nPING\r\n"), (SERVER, b"+PONG\r\n")],
    "postgres": [(CLIENT, struct.pack(">II", 8, 80877103)), (SERVER, b"S"), (CLIENT, b"\x16\3\1\2\0\1\0\1\xfc\3\3")],
    "smtp": [(SERVER, b"220 mail ESMTP\r\n"), (CLIENT, b"EHLO a\r\n"), (SERVER, b"250 a\r\n")],
    "like commands": [
        (SERVER, b"\5\0\0\0\x20abcd"),
        (CLIENT, packet(0, b"\x0e")),
        (CLIENT, packet(0, b"\x03SELECT 1")),
    ],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_connections_without_an_event_are_reported(name: str, tmp_path: Path) -> None:
    """The summary contains the port and the first bytes of each connection without an event. The exit code is 4."""
    dialogue = Dialogue(41000).open()
    for way, sent in FOREIGN[name]:
        dialogue.say(way, sent)
    path = write_pcap(tmp_path / "a.pcap", [dialogue, shop()])
    read = read_all(open_packets([path], (3306,)))
    assert len(read.events) == 3
    [problem] = [p for p in read.problems if p["kind"] == "no_event"]
    first = FOREIGN[name][0][1][:12].hex(" ")
    assert "port 3306" in problem["detail"]
    assert first in problem["detail"]
    assert "10.0.0.5:41000" in problem["detail"]
    done = run_here("capture", "packets", str(path), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    assert "1 connection has bytes, but no MySQL event" in done.out
    assert first in done.out


def test_health_checks_are_not_problems(tmp_path: Path) -> None:
    """Clients disconnect after the server's greeting, with or without a PROXY header. Other connections have only a TCP
    probe or the end of a response.
    """
    silent = Dialogue(41000).open().say(SERVER, greeting(MYSQL_CAPS))
    proxy = Dialogue(42000).open().say(CLIENT, V2).say(SERVER, greeting(MYSQL_CAPS))
    probe, answer = Dialogue(43000), Dialogue(44000)
    probe.raw(CLIENT, b"\0")
    answer.say(SERVER, bytes(3000))
    dialogues = [silent, proxy, probe, answer, Dialogue(45000).open(), shop()]
    found, problems, description = events(write_pcap(tmp_path / "a.pcap", dialogues))
    assert (len(found), problems, description["without_event"]) == (3, [], 0)


def x_protocol(port: int, midway: bool = False, old: bool = False) -> Dialogue:
    """Return a conversation in the X protocol. If `old`, the server sends nothing before the client's first message."""

    def frame(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("<IB", len(body) + 1, kind) + body

    dialogue = Dialogue(port)
    if not midway:
        dialogue.open()
        if not old:
            dialogue.say(SERVER, frame(11, b"\x08\5\x1a\0"))
        dialogue.say(CLIENT, frame(1)).say(SERVER, frame(2, bytes(40)))
    for number in range(3):
        dialogue.say(CLIENT, frame(12, b"\x0a\x08SELECT %d" % number)).say(SERVER, frame(12, bytes(9)) + frame(14))
    return dialogue.say(CLIENT, frame(3)).say(SERVER, frame(0))


def served_on(path: Path, dialogues: list[Dialogue], port: int) -> Path:
    """Write a capture file in which the server uses another port."""
    data = bytearray(write_pcap(path, dialogues).read_bytes())
    at = 24
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        for place in (at + 16 + 34, at + 16 + 36):
            if struct.unpack_from(">H", data, place)[0] == 3306:
                struct.pack_into(">H", data, place, port)
        at += 16 + size
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("port", "midway", "old"), [
    (3306, False, False), (3306, False, True), (33060, False, False), (33060, False, True), (33060, True, False)
])  # fmt: skip
def test_x_protocol_is_detected(port: int, midway: bool, old: bool, tmp_path: Path) -> None:
    """The X protocol is recognized by the first bytes of a connection or by its port. An X protocol connection gives no
    events.
    """
    path = served_on(tmp_path / "a.pcap", [x_protocol(41000, midway, old)], port)
    found, problems, description = events(path, (port,))
    assert (found, problems, description["x_protocol"]) == ([], ["x_protocol"], 1)
    done = run_here("capture", "packets", "--port", str(port), str(path), "-o", str(tmp_path / "o.tape"))
    assert "the tape lacks 1 connection of the X protocol" in done.err


def test_x_protocol_in_mid_stream_gives_no_events(tmp_path: Path) -> None:
    """On ports other than 33060, only the first bytes of a connection identify the X protocol. Without these bytes, the
    connection counts as one without an event.
    """
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [x_protocol(41000, True)]))
    assert (found, problems) == ([], ["no_event"])


def test_skipped_packets_are_summarized(tmp_path: Path) -> None:
    """The summary lists three kinds of packets: packets other than TCP, packets of other ports, and packets of ports
    with MySQL or X protocol traffic.
    """
    ours = write_pcap(tmp_path / "a.pcap", [shop()]).read_bytes()
    others = [
        served_on(tmp_path / "b.pcap", [shop(41000)], 3307),
        served_on(tmp_path / "c.pcap", [shop(42000, True)], 3308),
    ]
    others.append(served_on(tmp_path / "d.pcap", [x_protocol(43000)], 33060))
    web = Dialogue(44000).open().say(CLIENT, b"GET / HTTP/1.1\r\n\r\n")
    others.append(served_on(tmp_path / "e.pcap", [web], 80))
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    data = ours + b"".join(path.read_bytes()[24:] for path in others)
    data += struct.pack("<IIII", 1_718_000_100, 0, len(arp), len(arp)) + arp
    (tmp_path / "all.pcap").write_bytes(data)
    done = run_here("capture", "packets", str(tmp_path / "all.pcap"), "-o", str(tmp_path / "o.tape"))
    assert done.code == 0
    assert "packets skipped: 1 not TCP, " in done.out
    assert "TCP on other ports (ports 3307, 3308, 33060, 80)" in done.out
    assert "ports with probable MySQL traffic: add --port 3307 --port 3308" in done.out
    assert "ports with the X protocol, which is not supported: 33060" in done.out


def pcapng(
    dialogue: Dialogue,
    endian: str,
    links: list[int],
    snaplens: list[int],
    padding: int = 0,
    ticks: Mapping[int, int] | None = None,
) -> bytes:
    """Return a pcapng file whose packets alternate between its interfaces. `ticks` replaces the times of some packets,
    in microseconds.
    """

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(endian + "II", kind, len(body) + 12) + body + struct.pack(endian + "I", len(body) + 12)

    out = block(0x0A0D0D0A, struct.pack(endian + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(0x0BAD, bytes(padding))
    for link, snaplen in zip(links, snaplens, strict=True):
        out += block(1, struct.pack(endian + "HHI", link, 0, snaplen))
    heads = {1: bytes(12) + b"\x08\0", 101: b"", 113: bytes(14) + b"\x08\0", 276: b"\x08\0" + bytes(18), 0: b"\2\0\0\0"}
    for number, segment in enumerate(dialogue.segments):
        which = number % len(links)
        frame = heads[links[which]] + ip4(tcp(segment, dialogue.client_port), segment.way)
        when = (ticks or {}).get(number, 1_718_000_000_000_000 + number * 100)
        size = len(frame)
        out += block(6, struct.pack(endian + "IIIII", which, when >> 32, when & 0xFFFFFFFF, size, size) + frame)
    return out


@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("links", [[1, 1], [1, 113, 276], [101, 1], [113, 0, 1, 276, 101]])
def test_pcapng_file_may_have_different_interfaces(links: list[int], endian: str, tmp_path: Path) -> None:
    """The interfaces have different snapshot lengths and link types. Interface numbers begin at 0 again in a second
    section of the file.
    """
    snaplens = [262144, 65535, 0, 96, 1 << 20][: len(links)]
    data = pcapng(shop(), endian, links, snaplens) + pcapng(shop(41000), endian, links[::-1], snaplens)
    (tmp_path / "a.pcapng").write_bytes(data)
    found, problems, description = events(tmp_path / "a.pcapng")
    assert [event["command"] for event in found] == ["connect", "query", "quit"] * 2
    assert (problems, description["unknown_link_layer"]) == ([], 0)


def test_packet_with_an_impossible_time_uses_the_previous_time(tmp_path: Path) -> None:
    """A 64-bit number of microseconds can mean the year 586,524. Each packet with such a time is a problem. The events
    do not change.
    """
    plain, _, _ = events(write_pcap(tmp_path / "a.pcap", [shop()]))
    path = tmp_path / "a.pcapng"
    path.write_bytes(pcapng(shop(), "<", [1], [262144]))
    sound, problems, _ = events(path)
    assert (statements_and_results(sound), problems) == (statements_and_results(plain), [])
    assert [e["start_ns"] for e in sound] == [e["start_ns"] for e in plain]
    path.write_bytes(pcapng(shop(), "<", [1], [262144], ticks={0: 2**64 - 1, 6: 2**63}))
    found, problems, _ = events(path)
    assert (statements_and_results(found), problems) == (statements_and_results(plain), ["impossible_time"] * 2)
    assert max(e["start_ns"] for e in found) <= max(e["start_ns"] for e in plain)


def test_interface_block_may_cross_the_read_buffer(tmp_path: Path) -> None:
    """The first bytes of an interface block may be at the end of the read buffer, and the rest in the next read."""
    for padding in range((256 << 10) - 100, (256 << 10) - 40, 4):
        (tmp_path / "a.pcapng").write_bytes(pcapng(shop(), "<", [1, 113], [65535, 262144], padding))
        found, problems, _ = events(tmp_path / "a.pcapng")
        assert (len(found), problems) == (3, []), padding


def test_captures_from_users_are_read(samples: Path) -> None:
    """The files from users have two snapshot lengths, VXLAN, fragments, a split header or traffic of Connector/J
    5.1.49.
    """
    wanted: dict[str, Any] = {
        "13-two-snaplens.pcapng": 17,
        "14-vxlan.pcap": 8,
        "14h-ip-fragments.pcap": 8,
        "18b-proxy-v2-split.pcap": 8,
        "17-connectorj-5.1.49-no-parameters.pcap": 15,
    }
    for name, count in wanted.items():
        found, problems, _ = events(samples / "field" / name)
        assert (len(found), problems, [e for e in found if e["flags"] & UNBOUND]) == (count, [], []), name
