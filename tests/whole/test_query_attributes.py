# SPDX-License-Identifier: Apache-2.0
"""Query attributes of a tape of packets. A server that supports them gets them with texts and with executions. For
other servers, the attributes are counted.
"""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from querytape.replay import replay
from querytape.servers.sandbox import Server

from tests.capture.sources.test_packets_protocol import prepare_ok
from tests.helpers.dialogue import (
    CLIENT,
    MYSQL_CAPS,
    QUERY_ATTRIBUTES,
    SERVER,
    Dialogue,
    lenenc,
    ok,
    packet,
    write_pcap,
)
from tests.helpers.reading import tape_of
from tests.helpers.whole import options, outcomes

NAMED = "mysql_query_attribute_string('trace')"
TABLE = "CREATE TABLE shop.seen (id INT PRIMARY KEY, trace VARCHAR(40), n INT)"


def attributes(value: bytes) -> bytes:
    """Return one attribute before a statement, as clients of MySQL 8.0.23 and later send it."""
    return b"\1\1\0\1\xfe\0" + lenenc(b"trace") + lenenc(value)


def packets(path: Path, function: str) -> Path:
    """Write a session that has text statements and executions, with and without query attributes."""
    dialogue = Dialogue().logged_in(MYSQL_CAPS | QUERY_ATTRIBUTES)
    first = f"INSERT INTO seen SELECT 1, {function}, 0".encode()
    dialogue.ask(attributes(b"abc") + first, ok(1, affected=1))
    dialogue.ask(b"\0\1" + first.replace(b"1,", b"2,"), ok(1, affected=1))
    text = f"INSERT INTO seen SELECT ?, {function}, ?".encode()
    dialogue.say(CLIENT, packet(0, b"\x16" + text)).say(SERVER, prepare_ok(1, 0, 2))
    head, own = struct.pack("<IBI", 1, 8, 1), b"\3\0" + lenenc(b"")
    plain = head + b"\2\0\1" + own * 2 + struct.pack("<ii", 3, 33)
    named = (
        head + b"\3\0\1" + own * 2 + b"\xfd\0" + lenenc(b"trace") + struct.pack("<ii", 4, 44) + lenenc(b"in execution")
    )
    for body in (plain, named):
        dialogue.say(CLIENT, packet(0, b"\x17" + body)).say(SERVER, ok(1, affected=1))
    return write_pcap(path, [dialogue.close()], step_us=1)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["mysql-9", "mysql-8.0", "mysql-5.7", "mariadb"])
def test_query_attributes_reach_servers_that_support_them(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str
) -> None:
    """MySQL 9 has the component that reads query attributes. MySQL 8.0 accepts query attributes. Other servers get the
    statements without them.
    """
    server = server_factory(kind)
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    server.execute(TABLE)
    known = kind == "mysql-9"
    if known:
        server.execute("INSTALL COMPONENT 'file://component_query_attributes'")
    try:
        path = packets(tmp_path / "a.pcap", NAMED if known else "'-'")
        tape_of("packets", path, tmp_path)
        summary = replay(tmp_path / "a.pcap.tape", options(server, tmp_path / "a.run"))
    finally:
        if known:
            server.execute("UNINSTALL COMPONENT 'file://component_query_attributes'")
    reasons = [row[3] for row in outcomes(summary.path) if row[2] != "executed"]
    assert reasons == ["connect_by_replayer"]
    found = server.execute("SELECT id, trace, n FROM shop.seen ORDER BY id")
    traces = ("abc", None, None, "in execution") if known else ("-",) * 4
    assert found == tuple((n + 1, traces[n], (0, 0, 33, 44)[n]) for n in range(4))
    dropped = summary.info["accounting"]["query_attributes_dropped"]
    assert dropped == (0 if kind in ("mysql-9", "mysql-8.0") else 2)
