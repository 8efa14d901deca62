# SPDX-License-Identifier: Apache-2.0
"""Packets to events: conversations made by hand, in every container, order and state of damage; and real captures."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.capture import SOURCES, Settings, capture
from querytape.native.packets import open_packets
from querytape.schemas import FLAGS

from .dialogue import (
    CLIENT,
    COMPRESS,
    DEPRECATE_EOF,
    MYSQL_CAPS,
    QUERY_ATTRIBUTES,
    SERVER,
    SESSION_TRACK,
    SSL,
    Dialogue,
    Segment,
    column,
    eof,
    err,
    greeting,
    lenenc,
    login,
    ok,
    packet,
    query,
    rows,
    write_pcap,
)

TRUNCATED = FLAGS["truncated"]


def events(path: Path, ports: Sequence[int] = (3306,)) -> tuple[list[dict[str, Any]], list[str], dict[str, Any]]:
    """Return every event of a capture file in the order of sessions, the kinds of problems, and the description."""
    reader = open_packets([path], ports)
    found: list[dict[str, Any]] = []
    with duckdb.connect() as con:
        while not reader.stats().finished:
            stream = reader.part(1000, 1 << 20)
            con.register("s", stream)
            cursor = con.execute("SELECT * FROM s")
            names = [column[0] for column in cursor.description or []]
            found += [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            con.unregister("s")
            stream.close()
        con.register("p", reader.problems())
        kinds = [str(row[0]) for row in con.execute('SELECT kind FROM p ORDER BY "offset"').fetchall()]
    described = reader.describe()
    reader.close()
    return sorted(found, key=lambda e: (e["session"], e["seq"])), kinds, described


def said(found: list[dict[str, Any]]) -> list[tuple[str, bytes | None, int | None, int | None]]:
    """Return (command, statement, rows sent, errno) of events."""
    return [(e["command"], e["statement"], e["rows_sent"], e["errno"]) for e in found]


def shop() -> Dialogue:
    """Return a small conversation: a result set, a change, an error."""
    dialogue = Dialogue().logged_in()
    dialogue.ask(b"SELECT x FROM t", rows([b"a", b"bb", b"ccc"]))
    dialogue.ask(b"UPDATE t SET x = 'long " + b"y" * 3000 + b"'", ok(1, affected=7, warnings=2))
    dialogue.ask(b"SELECT nope", err(1, 1054, b"Unknown column 'nope'"))
    dialogue.ask(b"SELECT many", rows([b"%d" % n * 10 for n in range(500)]))
    return dialogue.close()


SHOP = [
    ("connect", None, None, 0),
    ("query", b"SELECT x FROM t", 3, 0),
    ("query", b"UPDATE t SET x = 'long " + b"y" * 3000 + b"'", None, 0),
    ("query", b"SELECT nope", None, 1054),
    ("query", b"SELECT many", 500, 0),
    ("quit", None, None, 0),
]


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("link", ["ethernet", "vlan", "qinq", "sll", "sll2", "null", "null_big", "raw"])
def test_every_link_layer_and_ip_version(tmp_path: Path, link: str, version: int) -> None:
    """The same conversation is the same, whatever carried it."""
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [shop()], link=link, version=version))
    assert said(found) == SHOP
    assert problems == []
    assert {e["host"] for e in found} == {"10.0.0.5" if version == 4 else "::5"}
    assert {e["thread_id"] for e in found} == {77}
    assert {(e["user"], e["db"]) for e in found} == {("app", "shop")}


@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_byte_orders_and_resolutions_of_times(tmp_path: Path, endian: str, nano: bool) -> None:
    """Both byte orders, micro- and nanoseconds: the times are the same."""
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [shop()], endian=endian, nano=nano))
    first = found[1]
    assert first["start_ns"] == 1_718_000_000_000_600_000
    assert first["duration_ns"] == 100_000
    assert first["first_byte_ns"] == 100_000
    update = found[2]
    assert update["request_ns"] == 200_000
    assert update["rows_affected"] == 7
    assert update["warnings"] == 2
    assert found[3]["error"] == "Unknown column 'nope'"


def orders(dialogue: Dialogue) -> dict[str, list[Segment]]:
    """Return the segments of a conversation as a network might show them: nothing is lost."""
    segments = dialogue.segments
    swapped = list(segments)
    for at in range(5, len(swapped) - 1, 3):
        if swapped[at].way == swapped[at + 1].way:
            swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
    overlapping = []
    for n, segment in enumerate(segments):
        overlapping.append(segment)
        if len(segment.payload) > 10 and n % 2:
            before = 6
            overlapping.append(replace(segment, seq=segment.seq + before, payload=segment.payload[before:]))
    probes = []
    for segment in segments:
        probes.append(segment)
        if segment.payload:
            probes.append(replace(segment, seq=segment.seq + len(segment.payload) - 1, payload=b"\0"))
    return {
        "out of order": swapped,
        "each twice": [segment for segment in segments for _ in range(2)],
        "retransmitted later": [*segments[:12], *segments[6:]],
        "overlapping": overlapping,
        "keep-alive probes": probes,
    }


@pytest.mark.parametrize("name", sorted(orders(shop())))
def test_reassembly_loses_nothing(tmp_path: Path, name: str) -> None:
    """Reordered, repeated, overlapping: the same events, each once."""
    dialogue = shop()
    pairs = [(dialogue, segment) for segment in orders(dialogue)[name]]
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", pairs))
    assert said(found) == SHOP
    assert problems == []
    assert described["gaps"] == 0


def test_sequence_numbers_wrap(tmp_path: Path) -> None:
    """Both ways cross 2^32 in the middle of the conversation."""
    dialogue = Dialogue(isn=(0xFFFFFFFF - 500, 0xFFFFFFFF - 300)).logged_in()
    dialogue.ask(b"SELECT '" + b"z" * 2000 + b"'", rows([b"q" * 100] * 50))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    assert [e["rows_sent"] for e in found] == [None, 50, None]
    assert problems == []


def test_a_lost_segment_hits_its_command_only(tmp_path: Path) -> None:
    """One segment of a long answer is missing: that answer is unknown, the next commands are whole."""
    dialogue = Dialogue().logged_in()
    dialogue.ask(b"SELECT lost", rows([b"v" * 900] * 20))
    for n in range(80):
        dialogue.ask(b"SELECT %d" % n, rows([b"%d" % n]))
    dialogue.close()
    at = next(i for i, s in enumerate(dialogue.segments) if s.way == SERVER and len(s.payload) == 1400) + 3
    pairs = [(dialogue, s) for i, s in enumerate(dialogue.segments) if i != at]
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", pairs))
    lost = [e for e in found if e["statement"] == b"SELECT lost"]
    assert [(e["errno"], e["rows_sent"], e["duration_ns"]) for e in lost] == [(None, None, None)]
    whole = [e for e in found if e["statement"] not in (b"SELECT lost", None)]
    assert {e["rows_sent"] for e in whole if e["errno"] == 0} == {1}
    assert sum(e["errno"] == 0 for e in whole) >= 15
    assert described["gaps"] == 1
    assert "lost_packets" in problems


def test_the_snapshot_length_cuts_statements_and_they_say_so(tmp_path: Path) -> None:
    """Statements that are not whole are marked, so that no replay sends them."""
    dialogue = Dialogue().logged_in().ask(b"SELECT 'a rather long statement'", rows([b"1"]))
    dialogue.segments[-2].cut = 10
    found, _, described = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    cut = next(e for e in found if e["command"] == "query")
    assert cut["flags"] & TRUNCATED
    assert cut["statement"] == b"SELECT 'a rather long "
    assert cut["errno"] is None
    assert described["cut_segments"] == 1


def test_ports_are_used_again(tmp_path: Path) -> None:
    """The same addresses without a FIN between: another session; a SYN seen twice is not."""
    first = Dialogue().logged_in().ask(b"SELECT 1", rows([b"1"]))
    second = Dialogue(isn=(777777, 888888)).logged_in().ask(b"SELECT 2", rows([b"2"])).close()
    pairs = [(d, s) for d in (first, second) for s in d.segments]
    pairs.insert(1, pairs[0])
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", pairs))
    assert [(e["session"], e["statement"]) for e in found if e["command"] == "query"] == [
        (1, b"SELECT 1"),
        (2, b"SELECT 2"),
    ]
    assert described["connections"] == 2
    assert problems == []


def test_joined_in_mid_stream(tmp_path: Path) -> None:
    """Without the login the account is unknown, the statements are not; half an answer before them is nobody's."""
    dialogue = Dialogue().logged_in().ask(b"SELECT before", rows([b"v" * 700] * 10))
    dialogue.ask(b"SELECT after", rows([b"1", b"2"])).ask(b"\0\1SELECT attributes", ok(1)).close()
    start = next(i for i, s in enumerate(dialogue.segments) if b"SELECT before" in s.payload) + 2
    pairs = [(dialogue, s) for s in dialogue.segments[start:]]
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", pairs))
    assert said(found) == [
        ("query", b"SELECT after", 2, 0),
        ("query", b"SELECT attributes", None, 0),
        ("quit", None, None, 0),
    ]
    assert {(e["user"], e["db"], e["thread_id"]) for e in found} == {(None, None, None)}
    assert problems == ["joined_midway"]


def test_tls_is_counted_and_never_guessed(tmp_path: Path) -> None:
    """Behind an SSLRequest nothing is read; the tape of other connections says how many were encrypted."""
    caps = MYSQL_CAPS | SSL
    secret = Dialogue(client_port=41000).open().say(SERVER, greeting(caps))
    secret.say(CLIENT, packet(1, struct.pack("<IIB", caps, 1 << 24, 255) + bytes(23))).say(CLIENT, query(b"SELECT no"))
    path = write_pcap(tmp_path / "a.pcap", [secret, shop()])
    found, problems, described = events(path)
    assert said(found) == SHOP
    assert (described["encrypted"], described["connections"], problems) == (1, 2, [])
    info = capture(SOURCES["packets"], [str(path)], tmp_path / "t.tape", Settings())
    assert info["warnings"][0]["text"].startswith("1 of 2 connections are encrypted")


def test_the_proxy_protocol_tells_the_client(tmp_path: Path) -> None:
    """Version 1 and 2: host and port are the client's, not the proxy's."""
    text = Dialogue(client_port=41001).open().say(CLIENT, b"PROXY TCP4 192.0.2.9 10.0.0.1 55555 3306\r\n")
    binary = Dialogue(client_port=41002).open()
    address = bytes([192, 0, 2, 8, 10, 0, 0, 1]) + struct.pack(">HH", 55556, 3306)
    binary.say(CLIENT, b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack(">H", len(address)) + address)
    for dialogue in (text, binary):
        dialogue.say(SERVER, greeting(MYSQL_CAPS)).say(CLIENT, login(MYSQL_CAPS)).say(SERVER, ok(2)).close()
    path = write_pcap(tmp_path / "a.pcap", [text, binary])
    found, problems, _ = events(path)
    assert [e["host"] for e in found] == ["192.0.2.9"] * 2 + ["192.0.2.8"] * 2
    assert problems == []
    capture(SOURCES["packets"], [str(path)], tmp_path / "t.tape", Settings())
    with duckdb.connect() as con:
        ports = con.execute(f"SELECT port FROM '{tmp_path}/t.tape/sessions.parquet' ORDER BY session").fetchall()
    assert ports == [(55555,), (55556,)]


@pytest.mark.parametrize("caps", [MYSQL_CAPS, MYSQL_CAPS | DEPRECATE_EOF])
def test_multi_statements_are_one_event(tmp_path: Path, caps: int) -> None:
    """Rows and affected rows are summed, the first error counts, warnings are the last result's."""
    dialogue = Dialogue().logged_in(caps)
    answer = rows([b"1", b"2"], caps, status=10) + ok(6, affected=3, status=10, warnings=4) + rows([b"3"], caps, seq=7)
    dialogue.ask(b"SELECT 1; UPDATE t; SELECT 2", answer)
    broken = rows([b"1"], caps, status=10) + err(6, 1146, b"no table")
    dialogue.ask(b"SELECT 1; SELECT nope; SELECT 3", broken).ask(b"SELECT 4", rows([b"4"], caps)).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [(e["rows_sent"], e["rows_affected"], e["errno"]) for e in found[1:4]] == [
        (3, 3, 0),
        (1, None, 1146),
        (1, None, 0),
    ]
    assert problems == []


def test_pipelined_commands_get_their_own_answers(tmp_path: Path) -> None:
    """Four queries in one segment, then four answers in one."""
    dialogue = Dialogue().logged_in()
    dialogue.say(CLIENT, b"".join(query(b"SELECT %d" % n) for n in range(4)))
    dialogue.say(SERVER, rows([b"a"]) + rows([b"a", b"b"]) + err(1, 1064, b"x") + rows([b"a", b"b", b"c"])).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [(e["statement"], e["rows_sent"], e["errno"]) for e in found[1:5]] == [
        (b"SELECT 0", 1, 0),
        (b"SELECT 1", 2, 0),
        (b"SELECT 2", None, 1064),
        (b"SELECT 3", 3, 0),
    ]
    assert problems == []


def test_query_attributes_are_not_part_of_the_statement(tmp_path: Path) -> None:
    """None, one string, one number and one NULL: the SQL is what stands behind them."""
    caps = MYSQL_CAPS | QUERY_ATTRIBUTES
    named = b"\xfe\0" + lenenc(b"trace") + b"\x08\0" + lenenc(b"n") + b"\xfe\0" + lenenc(b"nothing")
    values = lenenc(b"abc") + struct.pack("<q", -5)
    attributes = b"\3\1" + b"\4" + b"\1" + named + values
    dialogue = Dialogue().logged_in(caps).ask(b"\0\1SELECT 1", rows([b"1"]))
    dialogue.ask(attributes + b"SELECT 2", rows([b"2"])).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [(e["statement"], e["params"]) for e in found[1:3]] == [
        (b"SELECT 1", None),
        (b"SELECT 2", b"A" + attributes),
    ]
    assert problems == []


def test_the_schema_is_followed(tmp_path: Path) -> None:
    """INIT_DB, USE, and what session tracking tells; a USE that fails changes nothing."""
    caps = MYSQL_CAPS | SESSION_TRACK
    dialogue = Dialogue().logged_in(caps)
    dialogue.say(CLIENT, packet(0, b"\2other")).say(SERVER, ok(1)).ask(b"SELECT 1", rows([b"1"]))
    dialogue.ask(b"use `third`;", ok(1)).ask(b"SELECT 2", rows([b"1"]))
    dialogue.ask(b"USE gone", err(1, 1049, b"Unknown database")).ask(b"SELECT 3", rows([b"1"]))
    change = b"\1" + lenenc(lenenc(b"tracked"))
    dialogue.ask(b"CALL switches()", ok(1, status=0x4002, more=lenenc(b"") + lenenc(change)))
    dialogue.ask(b"SELECT 4", rows([b"1"])).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    schemas = {e["statement"]: e["db"] for e in found if e["command"] == "query"}
    assert [schemas[b"SELECT %d" % n] for n in (1, 2, 3, 4)] == ["other", "third", "third", "tracked"]
    assert problems == []


def prepare_ok(statement: int, columns: int, params: int) -> bytes:
    """Return a PREPARE's answer."""
    out = packet(1, b"\0" + struct.pack("<IHHBH", statement, columns, params, 0, 0))
    seq = 2
    for count in (params, columns):
        for _ in range(count):
            out += column(seq)
            seq += 1
        if count:
            out += eof(seq)
            seq += 1
    return out


def test_prepared_statements_carry_their_types(tmp_path: Path) -> None:
    """Types are sent once; each execution on the tape has them. Long data, reset, close, and an unknown id."""
    dialogue = Dialogue().logged_in()
    sql = b"SELECT x FROM t WHERE a = ? AND b = ?"
    dialogue.say(CLIENT, packet(0, b"\x16" + sql)).say(SERVER, prepare_ok(9, 1, 2))
    types, values = b"\3\0\xfd\0", struct.pack("<i", 42) + lenenc(b"text")
    first = struct.pack("<IBI", 9, 0, 1) + b"\0" + b"\1" + types + values
    binary = packet(1, b"\1") + column(2) + eof(3) + packet(4, b"\0\0" + lenenc(b"r")) + eof(5)
    dialogue.say(CLIENT, packet(0, b"\x17" + first)).say(SERVER, binary)
    again = struct.pack("<IBI", 9, 0, 1) + b"\2" + b"\0" + struct.pack("<i", 43)
    dialogue.say(CLIENT, packet(0, b"\x17" + again)).say(SERVER, binary)
    dialogue.say(CLIENT, packet(0, b"\x18" + struct.pack("<IH", 9, 1) + b"long"))
    longer = struct.pack("<IBI", 9, 0, 1) + b"\0" + b"\0" + struct.pack("<i", 44)
    dialogue.say(CLIENT, packet(0, b"\x17" + longer)).say(SERVER, binary)
    dialogue.say(CLIENT, packet(0, b"\x19" + struct.pack("<I", 9)))
    dialogue.say(CLIENT, packet(0, b"\x17" + struct.pack("<IBI", 99, 0, 1))).say(
        SERVER, err(1, 1243, b"unknown")
    ).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    head = b"E\2\0" + struct.pack("<I", 1)
    executes = [(e["statement"], e["stmt"], e["params"], e["rows_sent"]) for e in found if e["command"] == "execute"]
    assert executes == [
        (sql, 1, head + b"\0\1" + types + values, 1),
        (sql, 1, head + b"\2\1" + types + struct.pack("<i", 43), 1),
        (sql, 1, head + b"\0\1" + types + struct.pack("<i", 44), 1),
        (None, None, b"R" + struct.pack("<IBI", 99, 0, 1), None),
    ]
    assert [e["params"] for e in found if e["command"] == "long_data"] == [b"L\1\0long"]
    assert all(e["checksum"].startswith("binary:") for e in found if e["command"] == "execute" and e["rows_sent"])
    assert problems == ["params_not_understood"]


def test_local_infile_keeps_the_file(tmp_path: Path) -> None:
    """The client's file is the command's, not commands of its own."""
    dialogue = Dialogue().logged_in()
    dialogue.say(CLIENT, query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t")).say(SERVER, packet(1, b"\xfbx"))
    dialogue.say(CLIENT, packet(2, b"1\t\3a\n") + packet(3, b"2\tb\n") + packet(4, b"")).say(SERVER, ok(5, affected=2))
    dialogue.close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert (found[1]["params"], found[1]["rows_affected"], len(found)) == (b"I1\t\3a\n2\tb\n", 2, 3)
    assert problems == []


def frames(payload: bytes, seq: int, size: int) -> bytes:
    """Return bytes as compressed frames of `size` bytes each, every third one stored as it is."""
    out = b""
    for number, at in enumerate(range(0, len(payload), size)):
        piece = payload[at : at + size]
        stored = number % 3 == 2
        body = piece if stored else zlib.compress(piece)
        claimed = 0 if stored else len(piece)
        head = struct.pack("<I", len(body))[:3] + bytes([(seq + number) & 255]) + struct.pack("<I", claimed)[:3]
        out += head + body
    return out


@pytest.mark.parametrize("size", [7, 100, 1 << 20])
def test_compressed_frames_split_and_join_packets(tmp_path: Path, size: int) -> None:
    """zlib after the login; frames end wherever they like."""
    caps = MYSQL_CAPS | COMPRESS
    dialogue = Dialogue().logged_in(caps)
    dialogue.say(CLIENT, frames(query(b"SELECT x FROM t"), 0, size))
    dialogue.say(SERVER, frames(rows([b"v" * 50] * 40), 1, size))
    dialogue.say(CLIENT, frames(packet(0, b"\1"), 0, size))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert said(found) == [("connect", None, None, 0), ("query", b"SELECT x FROM t", 40, 0), ("quit", None, None, 0)]
    assert problems == []


def test_statements_and_rows_of_more_than_16_mib(tmp_path: Path) -> None:
    """They come in packets of 16 MiB - 1: one statement, one row."""
    text = b"SELECT '" + b"a" * (17 << 20) + b"'"
    big = b"b" * (18 << 20)
    row = b"\xfe" + struct.pack("<Q", len(big)) + big
    dialogue = Dialogue().logged_in()
    dialogue.say(CLIENT, packet(0, b"\3" + text), 60000)
    answer = packet(1, b"\1") + column(2) + eof(3) + packet(4, row) + packet(6, lenenc(b"small")) + eof(7)
    dialogue.say(SERVER, answer, 60000).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue], step_us=1))
    assert found[1]["statement"] == text
    assert found[1]["rows_sent"] == 2
    assert problems == []


def test_checksums_are_of_the_rows(tmp_path: Path) -> None:
    """The same rows give the same sums; in another order the second one only; other rows neither."""
    dialogue = Dialogue().logged_in()
    for values in ([b"1", b"2"], [b"1", b"2"], [b"2", b"1"], [b"1", b"3"], []):
        dialogue.ask(b"SELECT x", rows(values))
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    sums = [e["checksum"] for e in found if e["command"] == "query"]
    assert sums[0] == sums[1]
    assert sums[0] != sums[2]
    assert [text.split(":")[2] for text in sums[:3]] == [sums[0].split(":")[2]] * 3
    assert len({text.split(":")[2] for text in sums}) == 3
    assert all(text.startswith("text:") for text in sums)


def test_a_capture_file_cut_off_keeps_what_it_has(tmp_path: Path) -> None:
    """tcpdump was killed in the middle of a packet: a problem, and all events before it."""
    path = write_pcap(tmp_path / "a.pcap", [shop()])
    path.write_bytes(path.read_bytes()[:-30])
    found, problems, _ = events(path)
    assert said(found)[:5] == SHOP[:5]
    assert "damaged_capture" in problems
