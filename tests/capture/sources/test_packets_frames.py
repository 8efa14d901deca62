# SPDX-License-Identifier: Apache-2.0
"""Classification of frames: every IP protocol number, every Ethernet type, fragments and header chains."""

import struct
from pathlib import Path

import pytest
from querytape.native.bindings.parsers import open_packets

from tests.helpers.reading import read_quickly

TCP = struct.pack(">HHIIBBHHH", 40000, 3306, 1, 1, 0x50, 0x10, 65535, 0, 0) + b"\1\0\0\0\1"
COUNTS = ("tcp", "not_tcp", "ip_fragment", "not_ip", "bad_lengths", "cut_in_headers")


def nonzero_counters(tmp_path: Path, frame: bytes) -> list[str]:
    """Return the counters that one Ethernet frame increases."""
    record = struct.pack("<IIII", 1_718_000_000, 0, len(frame), len(frame)) + frame
    (tmp_path / "a.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + record)
    description = read_quickly(open_packets([tmp_path / "a.pcap"], (3306,))).description
    return [name for name in COUNTS if description[name]]


def frame6(first: int, body: bytes) -> bytes:
    """Return an IPv6 frame whose first header has the given type."""
    ends = bytes(15) + b"\5" + bytes(15) + b"\1"
    return bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(body), first, 64) + ends + body


def frame4(protocol: int, fragment: int = 0, body: bytes = TCP) -> bytes:
    """Return an IPv4 frame with the given protocol."""
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, fragment, 64, protocol, 0)
    return bytes(12) + b"\x08\0" + head + bytes([10, 0, 0, 5, 10, 0, 0, 1]) + body


@pytest.mark.slow
def test_only_protocol_6_counts_as_tcp(tmp_path: Path) -> None:
    """IPv6 extension headers are skipped, including the fragment header of an unfragmented packet. The tunnel headers
    in these frames contain no packet.
    """
    tunnels, extensions = (4, 41, 47, 97, 137), (0, 43, 44, 51, 60)
    for number in range(256):
        found = nonzero_counters(tmp_path, frame4(number, body=TCP if number not in extensions else b"\x3b" + TCP))
        assert found == ["tcp"] if number == 6 else "tcp" not in found, number
        assert found in (["tcp"], ["not_tcp"]) or number in tunnels, number
        body = bytes([6, 0 if number != 51 else 1]) + bytes(6 if number != 51 else 10) + TCP
        found = nonzero_counters(tmp_path, frame6(number, body))
        assert number == 6 or found == ["tcp" if number in extensions else "not_tcp"] or number in tunnels, number
        assert number in (6, *extensions) or "tcp" not in found, number


@pytest.mark.parametrize(
    ("bits", "kind"),
    [
        (0, "tcp"),
        (0x4000, "tcp"),
        (0x8000, "tcp"),
        (0x2000, "ip_fragment"),
        (1, "ip_fragment"),
        (0x1F00, "ip_fragment"),
    ],
)
def test_ipv4_fragments_are_detected(bits: int, kind: str, tmp_path: Path) -> None:
    """A fragment has the more-fragments bit or an offset. The don't-fragment bit does not make a packet a fragment."""
    assert nonzero_counters(tmp_path, frame4(6, bits, TCP.ljust(32, b"\0"))) == [kind]


@pytest.mark.parametrize(("headers", "kind"), [(1, "tcp"), (15, "tcp"), (16, "bad_lengths")])
def test_at_most_15_ipv6_headers_are_skipped(headers: int, kind: str, tmp_path: Path) -> None:
    """Real packets never have more than 15 IPv6 headers before TCP."""
    chain = b"".join(bytes([60 if n < headers - 1 else 6, 0]) + bytes(6) for n in range(headers))
    assert nonzero_counters(tmp_path, frame6(0, chain + TCP)) == [kind]
