# SPDX-License-Identifier: Apache-2.0
"""Source: packets, from capture files or an interface."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InputError
from ..native.packets import open_packets
from ..native.reader import Reader, ReaderStats
from .kinds import Option, Settings, SourceKind

MAGIC = (
    *(b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1"),
    b"\x0a\x0d\x0d\x0a",
)


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of capture files, or of the interface that the settings name."""
    extra = settings.extra
    interface = extra.get("interface")
    if bool(names) == bool(interface):
        raise InputError("give capture files, or --interface NAME (any, eth0, lo, ...), one of the two")
    ports = [int(port) for port in extra.get("port") or (3306,)]
    if any(not 0 < port < 65536 for port in ports):
        raise InputError(f"--port: expected numbers from 1 to 65535, found {ports}")
    return open_packets(names, ports, interface, extra.get("user"), extra.get("max_memory") or 256 << 20)


def limits(settings: Settings) -> Callable[[ReaderStats], bool]:
    """Return what says that a live capture has had its time."""
    end = time.monotonic() + (settings.extra.get("duration") or 0) / 1e9
    return lambda stats: bool(settings.extra.get("duration")) and time.monotonic() >= end


def said(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what must be said of connections and packets that could not be read."""
    warnings = []
    encrypted, connections = found.get("encrypted", 0), found.get("connections", 0)
    if encrypted:
        text = (
            f"{encrypted:,} of {connections:,} connections are encrypted: nothing of them is on the tape;"
            " capture from the slow log, or in front of what ends the TLS"
        )
        warnings.append({"kind": "encrypted", "text": text})
    dropped = sum(found.get(f"dropped_by_{who}", 0) for who in ("kernel", "interface", "ring"))
    if dropped:
        warnings.append({"kind": "dropped", "text": f"{dropped:,} packets were dropped while capturing"})
    if found.get("gaps"):
        text = f"{found['gaps']:,} holes in connections ({found['lost_bytes']:,} bytes): the commands hit are marked"
        warnings.append({"kind": "gaps", "text": text})
    if found.get("cut_segments"):
        text = f"{found['cut_segments']:,} packets were cut by the snapshot length: capture with tcpdump -s 0"
        warnings.append({"kind": "snaplen", "text": text})
    if found.get("joined_midway"):
        text = (
            f"{found['joined_midway']:,} connections were open before the capture began: what was prepared or set there"
            " before is not on the tape"
        )
        warnings.append({"kind": "joined_midway", "text": text})
    return warnings


KIND = SourceKind(
    name="packets",
    title="captured packets",
    help="""Record packets between clients and server, from files or live.

    Files as tcpdump and Wireshark write them (pcap, pcapng; packed, too), or an interface. TLS can't be read: encrypted
    connections are counted and named.""",
    examples="""\
Examples:
  tcpdump -i any -s 0 -w shop.pcap 'tcp port 3306'     on the server
  querytape capture packets shop.pcap -o shop.tape
  sudo querytape capture packets --interface any --duration 1h -o shop.tape
""",
    expected="MySQL connections on the port (--port 3306)",
    open=open_source,
    knows=lambda head: 0 if head[:4] in MAGIC else -1,
    measuring_point="wire",
    warnings=said,
    local_times=False,
    options=(
        Option("interface", "Capture live from this interface; any = all of them.", metavar="NAME"),
        Option("port", "A server's port; may be given several times. Default 3306.", "int", multiple=True),
        Option("duration", "Live: stop after this long. Default: Ctrl-C.", "duration"),
        Option("max-memory", "Live: packets that wait for the parser, at most.", "bytes", default="256M"),
        Option("max-disk", "Live: stop when the tape is this large.", "bytes", default="20G"),
        Option("user", "Live, as root: go on as this user once the interface is open.", metavar="NAME"),
    ),
    live=lambda settings: bool(settings.extra.get("interface")),
    over=limits,
)
