# SPDX-License-Identifier: Apache-2.0
"""Tunnels, VLAN tags and fragments. Each header is nested in each other header, cut at each byte, or made of random
bytes.
"""

import itertools
import random
from pathlib import Path

import pytest

from tests.helpers.command_line import run_here
from tests.helpers.dialogue import CLIENT, Dialogue, ip4, tcp
from tests.helpers.reading import statements_and_results
from tests.helpers.tunnels import COMMANDS, ETHERNET, FRAMES, INTO, MAC, ip, packets, pieces, read_frames, udp


@pytest.mark.sampled
@pytest.mark.parametrize("outer", [None, *INTO])
def test_nested_tunnels_give_the_same_events(outer: str | None, tmp_path: Path) -> None:
    """The summary names and counts each tunnel."""
    plain = read_frames(tmp_path / "a.pcap", [ETHERNET + p for p in packets()])
    for inner, (frame, make) in itertools.product(INTO, FRAMES.items()):
        tunnels = [inner] if outer is None else [inner, outer]
        carried = packets()
        for name in tunnels:
            carried = [INTO[name][1](p) for p in carried]
        found = read_frames(tmp_path / "a.pcap", [make(p) for p in carried])
        assert (found.events, found.kinds) == (plain.events, []), (tunnels, frame)
        assert all(found.description[INTO[name][0]] == len(carried) for name in tunnels), (tunnels, frame)
    assert [event["command"] for event in plain.events] == COMMANDS


@pytest.mark.parametrize(
    ("link", "head"), [(9, b"\0\x21"), (50, b"\xff\3\0\x21"), (51, b"\x11\0\0\1\0\0\0\x21"), (104, b"\x0f\0\x08\0"),
                       (219, b"\0\2\1\x40")]
)  # fmt: skip
def test_serial_link_layers_are_read(link: int, head: bytes, tmp_path: Path) -> None:
    """The link layers are PPP in three forms, Cisco HDLC and MPLS."""
    found = read_frames(tmp_path / "a.pcap", [head + p for p in packets()], link)
    assert ([event["command"] for event in found.events], found.kinds) == (COMMANDS, [])


@pytest.mark.parametrize("name", [*INTO])
def test_cut_or_random_tunnel_headers_are_only_counted(name: str, tmp_path: Path) -> None:
    """A frame with cut or random headers gives no event and does not end the capture."""
    chance = random.Random(name)
    whole = FRAMES["vlans"](INTO[name][1](packets()[3]))
    frames = [whole[:end] for end in range(len(whole))]
    for _ in range(400):
        at, frame = chance.randrange(len(whole)), bytearray(whole)
        frame[at : at + 4] = chance.randbytes(4)
        frames.append(bytes(frame))
    found = read_frames(tmp_path / "a.pcap", [*frames, *(chance.randbytes(chance.randrange(200)) for _ in range(200))])
    assert {event["command"] for event in found.events} <= {"connect"}


@pytest.mark.parametrize(("name", "frame"), [
    ("IPsec", ETHERNET + ip(50, bytes(40))), ("IPsec", ETHERNET + udp(4500, bytes(40))),
    ("L2TP", ETHERNET + udp(1701, bytes(40))), ("L2TP", ETHERNET + ip(115, bytes(40))), ("MACsec", MAC + b"\x88\xe5" + bytes(40)),
])  # fmt: skip
def test_encrypted_tunnels_are_counted_by_name(name: str, frame: bytes, tmp_path: Path) -> None:
    read_frames(tmp_path / "a.pcap", [frame])
    done = run_here("capture", "packets", str(tmp_path / "a.pcap"), "-o", str(tmp_path / "o.tape"))
    assert f"packets skipped: 1 not TCP; packets of unsupported protocols: 1 of {name}" in done.err


@pytest.mark.parametrize("size", [8, 24, 512, 1480])
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("order", ["as sent", "backwards", "shuffled", "twice", "interleaved"])
def test_ip_fragments_are_reassembled(order: str, version: int, size: int, tmp_path: Path) -> None:
    """Fragments arrive in any order or twice. Fragments of several packets are mixed."""
    chance = random.Random(size)
    parts = [pieces(p, size, number, version) for number, p in enumerate(packets(version))]
    for part in parts:
        if order == "backwards":
            part.reverse()
        elif order == "shuffled":
            chance.shuffle(part)
        elif order == "twice":
            part += part[: len(part) // 2]
    frames = list(itertools.chain(*parts))
    if order == "interleaved":
        pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
        columns = itertools.chain(*(itertools.zip_longest(*pair) for pair in pairs))
        frames = [f for f in itertools.chain(*columns) if f is not None]
    found = read_frames(tmp_path / "a.pcap", frames)
    assert [event["command"] for event in found.events] == COMMANDS
    assert (found.kinds, found.description["ip_incomplete"], found.description["gaps"]) == ([], 0, 0)


def test_fragments_inside_fragmented_tunnels_are_reassembled(tmp_path: Path) -> None:
    """A VXLAN packet contains a fragment and is fragmented itself."""
    frames = []
    for number, packet in enumerate(packets()):
        for inner, part in enumerate(pieces(packet, 400, number, 4)):
            carried = INTO["vxlan"][1](part[14:])
            frames += pieces(carried, 160, number * 50 + inner, 4)
    found = read_frames(tmp_path / "a.pcap", frames)
    assert [event["command"] for event in found.events] == COMMANDS
    assert (found.kinds, found.description["ip_incomplete"]) == ([], 0)


def test_missing_fragment_is_a_loss(tmp_path: Path) -> None:
    """The problem names the incomplete packet, and the exit code is 4. Missing fragments of packets for other ports are
    ignored.
    """
    frames, missing, foreign = [], 1, ip4(tcp(Dialogue().logged_in().segments[3], 40000, 8080), CLIENT)
    for number, packet in enumerate(packets()):
        parts = pieces(packet, 504, number, 4)
        if missing and len(parts) > 2:
            missing -= 1
            del parts[1]
        frames += parts
        frames += pieces(udp(53, bytes(1200)), 504, number, 4)[:1] + pieces(foreign, 40, 500 + number, 4)[:1]
    found = read_frames(tmp_path / "a.pcap", frames)
    assert found.description["ip_incomplete"] == 1
    assert found.kinds.count("ip_fragment") == 1
    assert "lost_packets" in found.kinds
    done = run_here("capture", "packets", str(tmp_path / "a.pcap"), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    assert "NOT ALL OF THE INPUT IS ON THE TAPE: 1 IP packet lacks fragments" in done.out


def test_many_incomplete_packets_are_counted(tmp_path: Path) -> None:
    """Only the first fragment of each of a thousand packets arrives. Each incomplete packet is counted, and later
    packets are read.
    """
    first = [pieces(packets()[3], 40, 1000 + number, 4)[0] for number in range(1000)]
    found = read_frames(tmp_path / "a.pcap", [*first, *(ETHERNET + p for p in packets())])
    assert [event["command"] for event in found.events] == COMMANDS
    assert found.description["ip_incomplete"] == 1000
    assert statements_and_results(found.events)[1][1] == b"SELECT 0"
