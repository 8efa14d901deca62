# SPDX-License-Identifier: Apache-2.0
"""Source: network packets from capture files or a network interface."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from ...common.errors import InputError, NativeFault, OptionError
from ...common.units import plural
from ...native.bindings.errors import NO_PERMISSION
from ...native.bindings.parsers import open_packets
from ...native.bindings.reader import Reader
from ...schemas.names import FLAGS
from ..source import Endless, Option, Settings, SourceKind, TapeWarning

DEFAULT_PORT = 3306
MOST_PORTS = 64  # equals QT_MAX_PORTS in native/packets/packets_events.h
# Magic bytes of pcap (microseconds and nanoseconds, both byte orders) and pcapng.
MAGIC = (
    *(b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1"),
    b"\x0a\x0d\x0d\x0a",
)

RIGHTS = """Packet capture requires CAP_NET_RAW. There are four ways to get this privilege:
  a pipe       sudo tcpdump -i {interface} -s 0 -U -w - '{filter}' | querytape capture packets -{ports} -o x.tape
  sudo         sudo querytape capture packets {live} -o x.tape
               querytape drops root's rights once the interface is open
  a unit       AmbientCapabilities=CAP_NET_RAW: docs/systemd/querytape-packets.service
  a container  podman run --network host --cap-add NET_RAW --user 0 -v "$PWD":/data IMAGE \\
                   capture packets {live} -o x.tape"""


def open_source(names: Sequence[str], settings: Settings) -> Reader:
    """Return a reader of capture files or of the network interface in the settings."""
    extra, ports = settings.extra, ports_of(settings)
    interface = extra.get("interface")
    if bool(names) == bool(interface):
        raise InputError("expected either capture files or --interface NAME (any, eth0, lo, ...)")
    if any(not 0 < port < 65536 for port in ports):
        raise OptionError(f"--port: expected numbers from 1 to 65535, found {ports}")
    if len(ports) > MOST_PORTS:
        raise OptionError(f"--port: expected at most {MOST_PORTS} ports, found {len(ports)}")
    try:
        return open_packets(
            names,
            ports,
            interface,
            user=extra.get("user"),
            ring_bytes=extra.get("max_memory") or 256 << 20,
            part_s=(settings.endless or Endless()).part_every_ns / 1e9,
            keylog=extra.get("keylog"),
            keylog_grows=bool(interface) or not all(Path(name).is_file() for name in names),
        )
    except NativeFault as fault:
        if fault.code != NO_PERMISSION:
            raise
        raise NativeFault(fault.code, f"{fault}. {four_ways(str(interface), ports)}") from fault


def four_ways(interface: str, ports: Sequence[int]) -> str:
    """Return four ways to capture from an interface if the privilege CAP_NET_RAW is missing."""
    live = " ".join(["--interface", interface, *(f"--port {port}" for port in ports if port != DEFAULT_PORT)])
    tcp = " or ".join(f"tcp port {port}" for port in ports)
    given = "".join(f" --port {port}" for port in ports if port != DEFAULT_PORT)
    return RIGHTS.format(interface=interface, filter=tcp, live=live, ports=given)


def ports_of(settings: Settings) -> list[int]:
    """Return the ports of --port, or the default."""
    return list(dict.fromkeys(int(port) for port in settings.extra.get("port") or (DEFAULT_PORT,)))


def expected(settings: Settings) -> str:
    """Return the description of the expected traffic with the given ports."""
    given = [f"--port {port}" for port in ports_of(settings)]
    if len(given) == 1:
        return f"MySQL connections on the given port ({given[0]})"
    return f"MySQL connections on the given ports ({' '.join(given)})"


def time_is_up(settings: Settings) -> Callable[[], bool]:
    """Return a function that reports whether the time of --duration has elapsed.

    The time starts with this call. Without --duration, the function always returns false.
    """
    duration_ns = settings.extra.get("duration")
    if not duration_ns:
        return lambda: False
    end = time.monotonic() + duration_ns / 1e9
    return lambda: time.monotonic() >= end


# Reasons for unreadable TLS connections: counter names of the reader, and their texts in messages.
UNREAD = {
    "tls_without_keys": "no keys",
    "tls_wrong_keys": "wrong keys",
    "tls_not_supported": "unsupported TLS version or cipher suite",
    "tls_handshake_lost": "incomplete handshake in the capture",
    "tls_renegotiated": "missing keys of a renegotiation",
}


def unread_reasons(description: Mapping[str, Any]) -> str:
    """Return the reasons for unreadable TLS connections with their counts."""
    counts = {text: description.get(key, 0) for key, text in UNREAD.items()}
    return ", ".join(f"{text}: {count:,}" for text, count in counts.items() if count)


def decrypted(description: Mapping[str, Any]) -> list[str]:
    """Return notes about decrypted connections if TLS keys were available, and about borrowed parameter types.

    Executions borrow parameter types from other connections.
    """
    if "decrypted" not in description:
        return borrowed(description)
    keys = f"the keys of {description['keylog']}" if description.get("keylog") else "the keys inside the capture"
    reasons = unread_reasons(description)
    return [
        f"decrypted {plural(description['decrypted'], 'connection')} with {keys}"
        + (f". Some connections could not be decrypted ({reasons})" if reasons else ""),
        *borrowed(description),
    ]


def borrowed(description: Mapping[str, Any]) -> list[str]:
    """Return a note about executions that use parameter types from other connections, if there are any."""
    count = description.get("types_of_others", 0)
    if not count:
        return []
    return [
        f"the parameter types of {plural(count, 'execution')} were sent before the capture. querytape uses the types"
        " that other connections sent for the same statement"
    ]


UNBOUND = (
    f"SELECT count(*), count(*) FILTER (flags & {FLAGS['truncated']} <> 0) FROM events"
    f" WHERE command IN ('execute', 'bulk_execute') AND flags & {FLAGS['unbound']} <> 0"
)


def without_values(con: duckdb.DuckDBPyConnection, description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about executions with an unknown text or unknown values, one per reason."""
    count, cut = con.execute(UNBOUND).fetchall()[0]
    misfits = description.get("executions_that_do_not_fit", 0)
    reasons = {
        "The statement texts or the parameter types were sent before the capture. --source can provide the texts": count
        - cut
        - misfits,
        "Some bytes of the executions are missing from the capture": cut,
        "The packets do not match the statements. --problems lists the byte positions": misfits,
    }
    return [
        {
            "kind": "unbound",
            "text": f"not replayed: {plural(n, 'execution')} of prepared statements with unknown values. {reason}",
        }
        for reason, n in reasons.items()
        if n > 0
    ]


def encrypted(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about TLS connections that could not be decrypted completely."""
    warnings = []
    count, connections = description.get("encrypted", 0), description.get("connections", 0)
    reasons = unread_reasons(description) if "decrypted" in description else ""
    if count:
        ports = " ".join(f"--port {port}" for port in description.get("ports", "").split())
        text = (
            f"encrypted connections that are not on the tape: {count:,} of {connections:,}"
            f" ({'; '.join(filter(None, (ports, reasons)))}). Use --keylog, capture the slow log, or capture on the"
            " unencrypted side of a TLS proxy"
        )
        warnings.append({"kind": "encrypted", "text": text})
    if part := description.get("decrypted_in_part"):
        new = description.get("decrypted_to_new_keys", 0)
        ways = [f"missing bytes: {part - new:,}"] * (part > new)
        ways += [f"missing keys of a renegotiation: {new:,}"] * (new > 0)
        text = (
            f"{plural(part, 'encrypted connection')} could be decrypted only partly ({', '.join(ways)}). The rest is"
            " not"
            " on the tape"
        )
        warnings.append({"kind": "encrypted", "text": text})
    if bad := description.get("keylog_bad_lines"):
        text = f"the key log has {plural(bad, 'invalid line')}. TLS keys may be missing"
        warnings.append({"kind": "encrypted", "text": text})
    if forgotten := description.get("keylog_forgotten"):
        text = (
            f"the key log has more than 2,097,152 connections. querytape dropped the keys of the oldest {forgotten:,}"
        )
        warnings.append({"kind": "encrypted", "text": text})
    return warnings


def foreign(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about connections with other protocols and about incomplete IP packets."""
    warnings = []
    if count := description.get("x_protocol"):
        text = (
            f"the tape lacks {plural(count, 'connection')} of the X protocol. Capture the slow log, or let the clients"
            " use the classic port (3306)"
        )
        warnings.append({"kind": "x_protocol", "text": text})
    if count := description.get("without_event"):
        first = description["first_without_event"]
        text = f"{plural(count, 'connection')} sent bytes, but no statement. First connection: {first}"
        warnings.append({"kind": "without_event", "text": text})
    if count := description.get("ip_incomplete"):
        text = f"incomplete IP packets: {count:,}. Fragments are missing, or the snapshot length truncated packets"
        warnings.append({"kind": "ip_fragment", "text": text})
    return warnings


TUNNELS = ("VXLAN", "GENEVE", "GRE", "ERSPAN", "IP in IP", "MPLS", "PPPoE")
SEALED = ("IPsec", "L2TP", "MACsec")


def passed_over(description: Mapping[str, Any]) -> list[str]:
    """Return notes about tunnels around the packets and about skipped packets."""
    through = [f"{description[name]:,} in {name}" for name in TUNNELS if description.get(name)]
    others = [(description.get("not_tcp", 0) + description.get("not_ip", 0), "not TCP")]
    others.append((description.get("other_tcp", 0), "TCP on other ports"))
    over = [f"{count:,} {what}" for count, what in others if count]
    sealed = [f"{description[name]:,} of {name}" for name in SEALED if description.get(name)]
    ports = " ".join(description.get(f"{kind}_ports", "") for kind in ("mysql", "x", "other")).split()
    notes = [f"packets in tunnels: {', '.join(through)}"] if through else []
    if over:
        shown = f" (ports {', '.join(ports)})" if ports else ""
        notes.append(f"packets skipped: {', '.join(over)}{shown}")
    if sealed:
        notes.append(f"packets of unsupported protocols: {', '.join(sealed)}")
    if likely := description.get("mysql_ports", "").split():
        notes.append(f"skipped ports with probable MySQL traffic: add {' '.join(f'--port {port}' for port in likely)}")
    if likely := description.get("x_ports", "").split():
        notes.append(f"skipped ports with the X protocol, which is not supported: {', '.join(likely)}")
    return notes


def notes(description: Mapping[str, Any]) -> list[str]:
    """Return the notes for the summary."""
    return [*decrypted(description), *passed_over(description)]


def unread(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about connections and packets that could not be read."""
    warnings = [*encrypted(description), *foreign(description)]
    dropped = sum(description.get(f"dropped_by_{who}", 0) for who in ("kernel", "interface", "ring"))
    if dropped:
        warnings.append({"kind": "dropped", "text": f"the capture dropped {plural(dropped, 'packet')}"})
    if description.get("filters_ports_only"):
        text = (
            "libpcap filters only ports. Tunneled packets and IP fragments are lost."
            " Use a pipe:"
            " sudo tcpdump -i INTERFACE -s 0 -U -w - | querytape capture packets - -o x.tape"
        )
        warnings.append({"kind": "live_filter", "text": text})
    if description.get("gaps"):
        text = (
            f"connections with missing bytes: {plural(description['lost_bytes'], 'byte')} at"
            f" {plural(description['gaps'], 'place')}. The affected commands are marked"
        )
        warnings.append({"kind": "gaps", "text": text})
    if description.get("cut_segments"):
        text = (
            f"the snapshot length truncated {plural(description['cut_segments'], 'packet')}. Capture with tcpdump -s 0"
        )
        warnings.append({"kind": "snaplen", "text": text})
    if unknown := description.get("joined_midway", 0) - description.get("known_midway", 0):
        text = (
            f"connections that were open before the capture: {unknown:,}. Their earlier settings and prepared"
            " statements"
            " are not on the tape"
        )
        warnings.append({"kind": "joined_midway", "text": text})
    return warnings


KIND = SourceKind(
    name="packets",
    title="captured packets",
    help="""Record the packets between clients and servers, from files or live.

    Reads files of tcpdump and Wireshark (pcap, pcapng, also compressed) or a network interface. TLS connections are
    decrypted with keys from --keylog or from the pcapng file. Encrypted connections without keys are counted but not
    recorded.""",
    examples="""\
Examples:
  tcpdump -i any -s 0 -w shop.pcap 'tcp port 3306'     on the server
  querytape capture packets shop.pcap -o shop.tape
  sudo querytape capture packets --interface any --duration 1h -o shop.tape
  querytape capture packets shop.pcap --keylog keys.log -o shop.tape   of TLS
""",
    expected=expected,
    open=open_source,
    sniff=lambda head: 0 if head[:4] in MAGIC else -1,
    measuring_point="wire",
    warnings=unread,
    look_for_holes=without_values,
    notes=notes,
    local_times=False,
    options=(
        Option("interface", "Capture live from this network interface (any: all interfaces).", metavar="NAME"),
        Option("port", "Port of a MySQL server; may be given up to 64 times. Default: 3306.", "int", multiple=True),
        Option(
            "keylog",
            "File with the TLS secrets of the connections, in the SSLKEYLOGFILE format. The file may grow during a"
            " live capture.",
            metavar="FILE",
        ),
        Option("duration", "Live: stop after this time. Default: stop at Ctrl-C.", "duration"),
        Option("max-memory", "Live: memory limit for packets that wait for the parser.", "bytes", default="256M"),
        Option("max-disk", "Live: stop when the tape reaches this size.", "bytes", default="20G"),
        Option("user", "Live, as root: switch to this user after the interface is open.", metavar="NAME"),
    ),
    live=lambda settings: bool(settings.extra.get("interface")),
    time_is_up=time_is_up,
)
