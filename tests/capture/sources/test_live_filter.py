# SPDX-License-Identifier: Apache-2.0
"""The live filter passes each packet that the file reader uses. It blocks packets of other ports that are in no tunnel."""

import ctypes
import itertools
import json
import os
import random
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from querytape.capture.sources.packets import unread
from querytape.common.errors import NativeFault
from querytape.native.bindings.parsers import live_filter

from tests.helpers.command_line import run_here
from tests.helpers.dialogue import CLIENT, Dialogue, ip4, ip6, tcp
from tests.helpers.duck import query
from tests.helpers.tunnels import COMMANDS, ETHERNET, FRAMES, INTO, MAC, ip, packets, pieces, read_frames, udp

from ...conftest import skip_loudly
from ...helpers.live import may_capture, recording

ETHERNET_LINK, COOKED = 1, 113
TAGS = (b"\x81\0", b"\x88\xa8", b"\x91\0", b"\x92\0")
SAMPLES = Path(__file__).parents[2] / "samples"


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.c_void_p))


class _Header(ctypes.Structure):
    _fields_ = (("time", ctypes.c_long * 2), ("captured", ctypes.c_uint32), ("sent", ctypes.c_uint32))


class Filter:
    """The live filter for one link layer. libpcap runs it on frames in memory. `length` is the number of its
    instructions.
    """

    def __init__(self, link: int, ports: tuple[int, ...] = (3306,)) -> None:
        self._pcap = ctypes.CDLL("libpcap.so.0.8")
        self._pcap.pcap_open_dead.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(self._pcap.pcap_open_dead(link, 262144))
        self._program = _Program()
        text = live_filter(link, ports).text.encode()
        assert not self._pcap.pcap_compile(handle, ctypes.byref(self._program), text, 1, ctypes.c_uint32(0xFFFFFFFF))
        self.length = self._program.length

    def passes(self, frame: bytes) -> bool:
        """Return whether a frame passes the filter."""
        header = _Header(captured=len(frame), sent=len(frame))
        return bool(self._pcap.pcap_offline_filter(ctypes.byref(self._program), ctypes.byref(header), frame))


@pytest.fixture(name="made")
def _made(request: pytest.FixtureRequest) -> Callable[..., Filter]:
    """Return the Filter class. Skip the test if the shared library of libpcap is missing."""
    try:
        ctypes.CDLL("libpcap.so.0.8")
    except OSError:
        skip_loudly(request, "no libpcap.so.0.8: the live filter is not tested on frames")
    return Filter


def conversations() -> Iterator[list[bytes]]:
    """Yield the frames of one conversation at a time. Each conversation has its own encapsulation and client port."""
    ports = itertools.count(20000)
    for name, frame in itertools.product(INTO, FRAMES):
        yield [FRAMES[frame](INTO[name][1](p)) for p in packets(port=next(ports))]
    for depth, tag in itertools.product(range(5), TAGS):
        yield [MAC + (tag + b"\0\7") * depth + b"\x08\0" + p for p in packets(port=next(ports))]
    for version, size in itertools.product((4, 6), (8, 504, 1480)):
        numbers = itertools.count(next(ports) << 8)
        whole = packets(version, next(ports))
        yield [piece for p in whole for piece in pieces(p, size, next(numbers) & 0xFFFF, version)]
    for name in INTO:
        carried = [INTO[name][1](p) for p in packets(port=next(ports))]
        numbers = itertools.count(next(ports) << 8)
        yield [piece for p in carried for piece in pieces(p, 504, next(numbers) & 0xFFFF, 4)]


def test_all_packets_of_each_conversation_pass(made: Callable[..., Filter]) -> None:
    """The conversations use each type of tunnel, up to four VLAN tags, fragments, and fragments of tunnels."""
    live = made(ETHERNET_LINK)
    for number, frames in enumerate(conversations()):
        assert all(live.passes(frame) for frame in frames), number


@pytest.mark.parametrize("link", [0, 9, 12, 50, 51, 104, 113, 228, 276])
def test_conversations_pass_on_each_link_layer(link: int, made: Callable[..., Filter]) -> None:
    """The packets are plain, fragmented or in tunnels, on all link layers that libpcap can filter."""
    live = made(link)
    heads = {0: struct.pack("<I", 2), 9: b"\xff\3\0\x21", 50: b"\xff\3\0\x21", 51: b"\x11\0\0\1\0\0\0\x21"}
    heads |= {104: b"\x0f\0\x08\0", 113: bytes(14) + b"\x08\0", 276: b"\x08\0" + bytes(18)}
    head = heads.get(link, b"")
    for name in INTO:
        carried = [INTO[name][1](p) for p in packets()]
        cut = [piece[14:] for n, p in enumerate(carried) for piece in pieces(p, 504, n, 4)]
        assert all(live.passes(head + p) for p in [*packets(), *carried, *cut]), name
    assert not live.passes(head + udp(53, bytes(60)))


def test_tunnels_pass_on_each_link_layer() -> None:
    """tests/native/test_live_filter.c tests a link layer that refuses filters for tunnels."""
    filtered = 0
    for link in range(300):
        try:
            found = live_filter(link, (3306, 3307))
        except NativeFault:
            continue
        filtered += 1
        assert (found.ports_only, "[6] = 47" in found.text or "ip[9] = 47" in found.text) == (False, True), link
    assert filtered > 30


def test_filter_for_plain_packets_only_gives_a_warning() -> None:
    """The warning names the packets that are not captured, and a command that captures these packets."""
    assert unread({"filters_ports_only": 0}) == []
    (warning,) = unread({"filters_ports_only": 1})
    assert warning["kind"] == "live_filter"
    for part in ("only ports", "Tunneled packets and IP fragments are lost", "tcpdump -i INTERFACE"):
        assert part in warning["text"]


def test_cooked_link_layer_passes_tags_and_mpls_labels(made: Callable[..., Filter]) -> None:
    """Frames of the interface `any` use the "Linux cooked" header, which has the ether type at its end."""
    live = made(COOKED)
    frames = [make(INTO["vxlan"][1](p)) for make in FRAMES.values() for p in packets()]
    assert all(live.passes(bytes(2) + frame) for frame in frames if frame[12:14] > b"\x05\xdc")


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*INTO])
def test_altered_frame_passes_if_the_reader_uses_it(name: str, made: Callable[..., Filter], tmp_path: Path) -> None:
    """The headers contain random bytes. A frame that still belongs to a connection must pass the filter."""
    chance, live, used = random.Random(name), made(ETHERNET_LINK), 0
    for _ in range(150):
        frame = bytearray(chance.choice([*FRAMES.values()])(INTO[name][1](packets()[3])))
        at = chance.randrange(100)
        frame[at : at + 1] = chance.randbytes(1)
        description = read_frames(tmp_path / "a.pcap", [bytes(frame)]).description
        if description["connections"] or description["ip_incomplete"]:
            used += 1
            assert live.passes(bytes(frame)), frame.hex()
    assert used > 10


def test_all_packets_of_recorded_samples_pass(made: Callable[..., Filter]) -> None:
    """The samples were recorded from real servers. Each frame passes the filter in both directions."""
    for name, sample in json.loads((SAMPLES / "samples.json").read_text(encoding="utf-8")).items():
        content, frames, at = (SAMPLES / f"{name}.pcap").read_bytes(), [], 24
        while at < len(content):
            length = struct.unpack_from("<I", content, at + 8)[0]
            frames.append(content[at + 16 : at + 16 + length])
            at += 16 + length
        live, other = (made(ETHERNET_LINK, (sample["port"] + more,)) for more in (0, 1))
        assert all(live.passes(frame) for frame in frames), name
        assert not any(other.passes(frame) for frame in frames), name


def test_packets_of_other_ports_are_blocked(made: Callable[..., Filter]) -> None:
    """UDP and TCP packets of other ports do not pass, whether they are plain, tagged or in VXLAN. Without this rule,
    other traffic of a busy host would reach the capture.
    """
    chance, live = random.Random(1), made(ETHERNET_LINK)
    vxlan = INTO["vxlan"][1]
    segment = Dialogue().logged_in().segments[3]
    for _ in range(300):
        port, client = chance.randrange(10000, 60000), chance.randrange(10000, 60000)
        body = chance.randbytes(chance.randrange(8, 1400))
        for packet in (udp(port, body), ip4(tcp(segment, client, port), CLIENT), ip(1, body)):
            assert not live.passes(ETHERNET + packet)
            assert not live.passes(FRAMES["vlans"](packet))
        for packet in (udp(port, body), ip4(tcp(segment, client, port), CLIENT)):
            assert not live.passes(ETHERNET + vxlan(packet))
        plain = ip6(tcp(segment, client, port), CLIENT)
        assert not live.passes(MAC + b"\x86\xdd" + plain[:6] + b"\6" + plain[7:40] + plain[56:])
    assert not live.passes(MAC + b"\x08\x06" + bytes(46))


@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_kernel_accepts_filters_with_many_ports(count: int, made: Callable[..., Filter]) -> None:
    """Linux accepts filters of at most 4,096 instructions. Packets of each given port pass, even in a tunnel."""
    ports = tuple(range(20000, 20000 + 10 * count, 10))
    live = made(ETHERNET_LINK, ports)
    assert live.length <= 4096
    segment = Dialogue().logged_in().segments[3]
    for port in ports:
        packet = ip4(tcp(segment, 40000, port), CLIENT)
        assert live.passes(ETHERNET + packet)
        assert live.passes(ETHERNET + INTO["vxlan"][1](packet))
    assert not live.passes(ETHERNET + ip4(tcp(segment, 40000, 20005), CLIENT))


@pytest.mark.parametrize(("count", "message"), [(64, "nosuch0"), (65, "at most 64 ports, found 65"), (0, "nosuch0")])
def test_too_many_ports_are_refused(count: int, message: str, tmp_path: Path) -> None:
    """No port is dropped silently. A port that is listed twice counts once."""
    command = [f"--port={port}" for port in [*range(4000, 4000 + count), *range(4000, 4000 + count)]]
    done = run_here("capture", "packets", "--interface", "nosuch0", *command, "-o", str(tmp_path / "x.tape"))
    assert done.code != 0
    assert message in done.err


@pytest.fixture(name="cable")
def _cable(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Create two interfaces that are joined by a virtual cable. Skip the test if this user cannot create them."""
    may_capture(request)
    near, far = f"qt{os.getpid()}a", f"qt{os.getpid()}b"
    command = ["ip", "link", "add", near, "mtu", "9000", "type", "veth", "peer", "name", far, "mtu", "9000"]
    try:
        made = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        skip_loudly(request, "no rights to make a veth pair: the live filter is not tested in the kernel")
    try:
        for name in (near, far):
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        yield near, far
    finally:
        subprocess.run(["ip", "link", "del", near], check=True)


def send(interface: str, conversations: list[list[bytes]]) -> None:
    """Send frames through an interface."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((interface, 0))
        for frames in conversations:
            for frame in frames:
                out.send(frame)
            time.sleep(0.002)


@pytest.mark.parametrize("interface", ["far", "any"])
def test_live_capture_has_all_conversations(interface: str, cable: tuple[str, str], tmp_path: Path) -> None:
    """The conversations use tunnels, VLAN tags and fragments, and arrive over a virtual cable. The kernel removes the
    tags from the packets.
    """
    tape, sent = tmp_path / "live.tape", list(conversations())
    with recording(3306, tape, cable[1] if interface == "far" else "any"):
        send(cable[0], sent)
    found = query(
        f"SELECT commands, count(*) FROM (SELECT list(command ORDER BY seq) AS commands FROM"
        f" '{tape}/events/*.parquet' GROUP BY session) GROUP BY ALL"
    )
    assert found == [(COMMANDS, len(sent))]


def test_missing_fragment_is_a_loss_in_a_live_capture(cable: tuple[str, str], tmp_path: Path) -> None:
    """The capture exits with code 4. The event with missing bytes has no response."""
    tape, parts = tmp_path / "live.tape", [pieces(p, 104, n, 4) for n, p in enumerate(packets())]
    del next(part for part in parts if len(part) > 3)[1]
    with recording(3306, tape, cable[1], code=4):
        send(cable[0], parts)
    found = query(f"SELECT count(*) FILTER (errno IS NULL) FROM '{tape}/events/*.parquet' WHERE command = 'query'")
    assert found == [(1,)]


def test_file_of_filtered_packets_gives_the_same_events(made: Callable[..., Filter], tmp_path: Path) -> None:
    """The conversation runs among packets of other ports. Only packets that pass the filter are written to the capture
    file.
    """
    live, chance = made(ETHERNET_LINK), random.Random(3)
    for frames in itertools.islice(conversations(), 0, None, 17):
        noise = [ETHERNET + udp(chance.randrange(10000, 60000), chance.randbytes(300)) for _ in range(40)]
        mixed = [*frames]
        for frame in noise:
            mixed.insert(chance.randrange(len(mixed)), frame)
        whole = read_frames(tmp_path / "a.pcap", mixed)
        passed = read_frames(tmp_path / "a.pcap", [frame for frame in mixed if live.passes(frame)])
        assert [e["statement"] for e in passed.events] == [e["statement"] for e in whole.events]
        assert passed.description["not_tcp"] == 0
