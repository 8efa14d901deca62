# SPDX-License-Identifier: Apache-2.0
"""Handmade MySQL conversations, and capture files with these conversations.

Packets may be in order, reordered, duplicated or missing.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CLIENT, SERVER = 0, 1
MYSQL_CAPS = 0x0000_0001 | 0x200 | 0x8000 | 0x80000 | 0x10000 | 0x20000 | 0x8
DEPRECATE_EOF = 0x1000000
QUERY_ATTRIBUTES = 0x8000000
SESSION_TRACK = 0x800000
COMPRESS = 0x20
SSL = 0x800


def packet(seq: int, payload: bytes) -> bytes:
    """Return a MySQL packet. A payload of 16 MiB - 1 or more is split into several packets."""
    out = b""
    while len(payload) >= 0xFFFFFF:
        out += b"\xff\xff\xff" + bytes([seq & 255]) + payload[:0xFFFFFF]
        payload, seq = payload[0xFFFFFF:], seq + 1
    return out + struct.pack("<I", len(payload))[:3] + bytes([seq & 255]) + payload


def lenenc(text: bytes) -> bytes:
    """Return a length-encoded string."""
    n = len(text)
    if n < 251:
        return bytes([n]) + text
    return (b"\xfc" + struct.pack("<H", n) if n < 65536 else b"\xfd" + struct.pack("<I", n)[:3]) + text


def greeting(caps: int, thread: int = 77) -> bytes:
    """Return the greeting, the first packet of a server."""
    low, high = caps & 0xFFFF, caps >> 16 & 0xFFFF
    return packet(
        0,
        b"\x0a8.0.31\0"
        + struct.pack("<I", thread)
        + b"abcdefgh\0"
        + struct.pack("<H", low)
        + b"\xff\2\0"
        + struct.pack("<H", high)
        + b"\x15"
        + bytes(10)
        + b"ijklmnopqrst\0"
        + b"mysql_native_password\0",
    )


def login(caps: int, user: bytes = b"app", db: bytes = b"shop") -> bytes:
    """Return a HandshakeResponse41."""
    body = struct.pack("<IIB", caps, 1 << 24, 255) + bytes(23) + user + b"\0" + b"\x14" + bytes(20) + db + b"\0"
    return packet(1, body + b"mysql_native_password\0")


def ok(seq: int, affected: int = 0, status: int = 2, warnings: int = 0, header: int = 0, more: bytes = b"") -> bytes:
    """Return an OK packet."""
    return packet(seq, bytes([header, affected, 0]) + struct.pack("<HH", status, warnings) + more)


def err(seq: int, number: int, text: bytes) -> bytes:
    """Return an ERR packet."""
    return packet(seq, b"\xff" + struct.pack("<H", number) + b"#42S02" + text)


def eof(seq: int, status: int = 2, warnings: int = 0) -> bytes:
    """Return an EOF packet."""
    return packet(seq, b"\xfe" + struct.pack("<HH", warnings, status))


def query(text: bytes) -> bytes:
    """Return a COM_QUERY without attributes."""
    return packet(0, b"\x03" + text)


def column(seq: int) -> bytes:
    """Return a column definition."""
    return packet(seq, lenenc(b"def") + lenenc(b"") * 4 + lenenc(b"x") + b"\x0c" + bytes(12))


def rows(values: Sequence[bytes], caps: int = 0, status: int = 2, seq: int = 1) -> bytes:
    """Return a result set of one text column."""
    out = packet(seq, b"\1") + column(seq + 1)
    seq += 2
    if not caps & DEPRECATE_EOF:
        out += eof(seq)
        seq += 1
    for value in values:
        out += packet(seq, lenenc(value))
        seq += 1
    return out + (ok(seq, status=status, header=0xFE) if caps & DEPRECATE_EOF else eof(seq, status))


@dataclass
class Segment:
    """A TCP segment: its direction, its offset in the stream of that direction, and its payload."""

    way: int
    seq: int
    ack: int
    payload: bytes
    flags: int = 0x18
    cut: int = 0


@dataclass
class Dialogue:
    """The segments of one connection. `say` appends segments in order."""

    client_port: int = 40000
    isn: tuple[int, int] = (1000, 5000)
    segments: list[Segment] = field(default_factory=list)
    sent: list[int] = field(default_factory=lambda: [0, 0])

    def raw(self, way: int, payload: bytes, flags: int = 0x18) -> None:
        """Append one segment with the next sequence numbers of its direction."""
        seq, ack = self.isn[way] + self.sent[way], self.isn[1 - way] + self.sent[1 - way]
        self.segments.append(Segment(way, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, payload, flags))
        self.sent[way] += len(payload) + (1 if flags & 3 else 0)

    def open(self) -> "Dialogue":
        """Append the three segments of the TCP handshake."""
        self.raw(CLIENT, b"", 0x02)
        self.raw(SERVER, b"", 0x12)
        self.raw(CLIENT, b"", 0x10)
        return self

    def say(self, way: int, payload: bytes, mss: int = 1400) -> "Dialogue":
        """Append bytes, split into as many segments as needed."""
        for at in range(0, len(payload), mss):
            self.raw(way, payload[at : at + mss])
        return self

    def logged_in(self, caps: int = MYSQL_CAPS) -> "Dialogue":
        """Append the TCP handshake and a login."""
        return self.open().say(SERVER, greeting(caps)).say(CLIENT, login(caps)).say(SERVER, ok(2))

    def ask(self, text: bytes, answer: bytes) -> "Dialogue":
        """Append a query and its reply."""
        return self.say(CLIENT, query(text)).say(SERVER, answer)

    def close(self) -> "Dialogue":
        """Append COM_QUIT and close both directions."""
        self.say(CLIENT, packet(0, b"\1"))
        self.raw(CLIENT, b"", 0x11)
        self.raw(SERVER, b"", 0x11)
        return self


def tcp(segment: Segment, client_port: int, server_port: int = 3306) -> bytes:
    """Return the TCP header and payload."""
    ports = (client_port, server_port) if segment.way == CLIENT else (server_port, client_port)
    header = struct.pack(">HHIIBBHHH", *ports, segment.seq, segment.ack, 0x50, segment.flags, 65535, 0, 0)
    return header + segment.payload


def ip4(body: bytes, way: int) -> bytes:
    """Return an IPv4 packet."""
    ends = (bytes([10, 0, 0, 5]), bytes([10, 0, 0, 1]))
    source, target = ends if way == CLIENT else ends[::-1]
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, 6, 0) + source + target + body


def ip6(body: bytes, way: int) -> bytes:
    """Return an IPv6 packet with a hop-by-hop extension and a destination extension."""
    ends = (bytes(15) + b"\5", bytes(15) + b"\1")
    source, target = ends if way == CLIENT else ends[::-1]
    extensions = b"\x3c\0" + bytes(6) + b"\6\0" + bytes(6)
    return struct.pack(">IHBB", 6 << 28, len(extensions) + len(body), 0, 64) + source + target + extensions + body


def link_layer(name: str, body: bytes, version: int = 4) -> tuple[int, bytes]:
    """Return (link type, frame) for an IP packet."""
    ether = b"\x08\x00" if version == 4 else b"\x86\xdd"
    mac = bytes(12)
    family = 2 if version == 4 else 30
    return {
        "ethernet": (1, mac + ether + body),
        "vlan": (1, mac + b"\x81\x00\x00\x07" + ether + body),
        "qinq": (1, mac + b"\x88\xa8\x00\x07\x81\x00\x00\x08" + ether + body),
        "sll": (113, bytes(14) + ether + body),
        "sll2": (276, ether + bytes(18) + body),
        "null": (0, struct.pack("<I", family) + body),
        "null_big": (0, struct.pack(">I", family) + body),
        "raw": (101, body),
    }[name]


def write_pcap(
    path: Path,
    conversations: Sequence[Dialogue] | Sequence[tuple[Dialogue, Segment]],
    link: str = "ethernet",
    endian: str = "<",
    nano: bool = False,
    version: int = 4,
    step_us: int = 100,
    stamps_us: Sequence[int] | None = None,
) -> Path:
    """Write a capture file with dialogues in sequence, or with segments in the given order, 100 us apart.

    `stamps_us`: the time of each segment in microseconds since 1970, instead of the default spacing.
    """
    pairs: list[tuple[Dialogue, Segment]] = []
    for item in conversations:
        pairs += [item] if isinstance(item, tuple) else [(item, segment) for segment in item.segments]
    number, out = 1, b""
    for at, (dialogue, segment) in enumerate(pairs):
        body = tcp(segment, dialogue.client_port)
        number, frame = link_layer(link, ip4(body, segment.way) if version == 4 else ip6(body, segment.way), version)
        when = stamps_us[at] if stamps_us else 1_718_000_000_000_000 + at * step_us
        fraction = (when % 1_000_000) * (1000 if nano else 1)
        kept = frame[: len(frame) - segment.cut]
        seconds = when // 1_000_000
        out += struct.pack(endian + "IIII", seconds, fraction, len(kept), len(frame)) + kept
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    path.write_bytes(struct.pack(endian + "IHHiIII", magic, 2, 4, 0, 0, 262144, number) + out)
    return path
