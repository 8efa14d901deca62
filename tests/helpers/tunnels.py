# SPDX-License-Identifier: Apache-2.0
"""Packets in tunnels, VLAN tags and fragments. Every variant carries the same conversation."""

import struct
from collections.abc import Callable
from pathlib import Path

from querytape.native.bindings.parsers import open_packets

from tests.helpers.dialogue import Dialogue, ip4, ip6, rows, tcp
from tests.helpers.reading import Read, read_quickly

MAC = bytes(12)
OUTER = bytes([192, 0, 2, 1, 192, 0, 2, 2])
ETHERNET = MAC + b"\x08\0"


def shop() -> Dialogue:
    """Return a conversation of five commands."""
    dialogue = Dialogue().logged_in()
    for number in range(3):
        dialogue.ask(b"SELECT %d" % number, rows([b"v" * 3000]))
    return dialogue.close()


def ip(protocol: int, body: bytes) -> bytes:
    """Return an IPv4 packet between two tunnel endpoints."""
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 7, 0, 64, protocol, 0) + OUTER + body


def udp(port: int, body: bytes) -> bytes:
    """Return a UDP packet to a port, inside IPv4."""
    return ip(17, struct.pack(">HHHH", 50000, port, 8 + len(body), 0) + body)


# The capture's name of each tunnel, and a function that wraps an IPv4 packet in the tunnel. The outer packet is IPv4.
INTO: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "vxlan": ("VXLAN", lambda p: udp(4789, b"\x08\0\0\0\0\0\7\0" + ETHERNET + p)),
    "vxlan of Linux": ("VXLAN", lambda p: udp(8472, b"\x08\0\0\0\0\0\7\0" + ETHERNET + p)),
    "vxlan-gpe": ("VXLAN", lambda p: udp(4790, b"\x0c\0\0\1\0\0\7\0" + p)),
    "geneve": ("GENEVE", lambda p: udp(6081, b"\0\0\x65\x58\0\0\7\0" + ETHERNET + p)),
    "geneve with options": ("GENEVE", lambda p: udp(6081, b"\2\0\x08\0\0\0\7\0" + bytes(8) + p)),
    "gre": ("GRE", lambda p: ip(47, b"\0\0\x08\0" + p)),
    "gre with all": ("GRE", lambda p: ip(47, b"\xb0\0\x65\x58" + bytes(12) + ETHERNET + p)),
    "gre in udp": ("GRE", lambda p: udp(4754, b"\0\0\x08\0" + p)),
    "pptp": ("GRE", lambda p: ip(47, b"\x30\x81\x88\x0b" + bytes(12) + b"\xff\3\0\x21" + p)),
    "erspan 1": ("ERSPAN", lambda p: ip(47, b"\0\0\x88\xbe" + ETHERNET + p)),
    "erspan 2": ("ERSPAN", lambda p: ip(47, b"\x10\0\x88\xbe" + bytes(4) + bytes(8) + ETHERNET + p)),
    "erspan 3": ("ERSPAN", lambda p: ip(47, b"\x10\0\x22\xeb" + bytes(4) + bytes(11) + b"\1" + bytes(8) + ETHERNET + p)),
    "ip in ip": ("IP in IP", lambda p: ip(4, p)),
    "ethernet in ip": ("IP in IP", lambda p: ip(97, b"\x30\0" + ETHERNET + p)),
    "mpls in ip": ("MPLS", lambda p: ip(137, b"\0\1\0\x40\0\2\1\x40" + p)),
    "mpls in udp": ("MPLS", lambda p: udp(6635, b"\0\2\1\x40" + p)),
}  # fmt: skip
# Functions that turn an IPv4 packet into an Ethernet frame.
FRAMES: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda p: ETHERNET + p,
    "vlans": lambda p: MAC + b"\x88\xa8\0\7\x81\0\0\x08\x08\0" + p,
    "vn tag": lambda p: MAC + b"\x89\x26\0\0\0\0\x08\0" + p,
    "backbone": lambda p: MAC + b"\x88\xe7\0\0\0\1" + ETHERNET + p,
    "snap": lambda p: MAC + struct.pack(">H", 8 + min(len(p), 1492)) + b"\xaa\xaa\3\0\0\0\x08\0" + p,
    "mpls": lambda p: MAC + b"\x88\x47\0\1\0\x40\0\2\1\x40" + p,
    "mpls, ethernet": lambda p: MAC + b"\x88\x47\0\2\1\x40" + bytes(4) + ETHERNET + p,
    "pppoe": lambda p: MAC + b"\x88\x64\x11\0\0\1" + struct.pack(">H", len(p) + 2) + b"\0\x21" + p,
}


def packets(version: int = 4, port: int = 40000) -> list[bytes]:
    """Return the conversation as IP packets. `port` is the client port."""
    made = ip4 if version == 4 else ip6
    return [made(tcp(segment, port), segment.way) for segment in shop().segments]


COMMANDS = ["connect", "query", "query", "query", "quit"]


def pieces(packet: bytes, size: int, number: int, version: int) -> list[bytes]:
    """Return the fragments of an IP packet as frames."""
    out, header = [], 20 if version == 4 else 40
    body = packet[header:]
    for at in range(0, len(body), size):
        part, more = body[at : at + size], at + size < len(body)
        if version == 4:
            head = packet[:2] + struct.pack(">HHH", 20 + len(part), number, at // 8 | 0x2000 * more) + packet[8:20]
            out.append(ETHERNET + head + part)
        else:
            head = packet[:4] + struct.pack(">HB", 8 + len(part), 44) + packet[7:40]
            out.append(MAC + b"\x86\xdd" + head + packet[6:7] + b"\0" + struct.pack(">HI", at | more, number) + part)
    return out


def read_frames(path: Path, frames: list[bytes], link: int = 1) -> Read:
    """Read a capture file with these frames."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link)
    for number, frame in enumerate(frames):
        out += struct.pack("<IIII", 1_718_000_000, number * 100, len(frame), len(frame)) + frame
    path.write_bytes(out)
    return read_quickly(open_packets([path], (3306,)))
