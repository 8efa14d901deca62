# SPDX-License-Identifier: Apache-2.0
"""From packets to events: handmade conversations in every file format, in any packet order and with damage."""

import random
import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.native.bindings.parsers import open_packets
from querytape.schemas import FLAGS

from tests.helpers.tape_tools import found as found_on

from ...helpers.dialogue import (
    CLIENT,
    MYSQL_CAPS,
    SERVER,
    SSL,
    Dialogue,
    Segment,
    err,
    greeting,
    login,
    ok,
    packet,
    query,
    rows,
    write_pcap,
)
from ...helpers.reading import events, read_all, statements_and_results

TRUNCATED = FLAGS["truncated"]


def shop() -> Dialogue:
    """Return a short conversation with a result set, a change of data and an error."""
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
def test_link_layer_and_ip_version_do_not_change_events(tmp_path: Path, link: str, version: int) -> None:
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [shop()], link=link, version=version))
    assert statements_and_results(found) == SHOP
    assert problems == []
    assert {e["host"] for e in found} == {"10.0.0.5" if version == 4 else "::5"}
    assert {e["thread_id"] for e in found} == {77}
    assert {(e["user"], e["db"]) for e in found} == {("app", "shop")}


@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_byte_order_and_time_resolution_do_not_change_times(tmp_path: Path, endian: str, nano: bool) -> None:
    """The capture file has either byte order, and times in microseconds or nanoseconds."""
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
    """Return the segments of a conversation in orders that are possible on a network, without loss."""
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
def test_reassembly_loses_no_events(tmp_path: Path, name: str) -> None:
    """Segments are reordered, repeated or overlapping. Each event is read once."""
    dialogue = shop()
    pairs = [(dialogue, segment) for segment in orders(dialogue)[name]]
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", pairs))
    assert statements_and_results(found) == SHOP
    assert problems == []
    assert described["gaps"] == 0


def test_sequence_numbers_may_pass_2_to_the_32(tmp_path: Path) -> None:
    """The sequence numbers of both directions pass 2^32 in the middle of the conversation."""
    dialogue = Dialogue(isn=(0xFFFFFFFF - 500, 0xFFFFFFFF - 300)).logged_in()
    dialogue.ask(b"SELECT '" + b"z" * 2000 + b"'", rows([b"q" * 100] * 50))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    assert [e["rows_sent"] for e in found] == [None, 50, None]
    assert problems == []


def test_lost_segment_affects_only_its_command(tmp_path: Path) -> None:
    """One segment of a long response is missing. The response is unknown, and all later commands are complete."""
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
    assert [e["errno"] for e in whole] == [0] * 80
    assert described["gaps"] == 1
    assert "lost_packets" in problems
    problem = next(p for p in read_all(open_packets([tmp_path / "a.pcap"])).problems if p["kind"] == "lost_packets")
    assert problem["offset"] > 0
    assert re.search(r'^\d+ bytes from the server are missing: "\d+\.\d+\.\d+\.\d+:\d+, query"', problem["detail"])


@pytest.mark.parametrize("swaps", [0, 40])
@pytest.mark.parametrize("lost", [(CLIENT,), (SERVER,), (CLIENT, SERVER)])
def test_lost_packets_do_not_shift_responses(tmp_path: Path, lost: tuple[int, ...], swaps: int) -> None:
    """Some packets are lost, and some neighbouring packets are captured in the wrong order. All other commands have
    their own responses.
    """
    for seed in range(6):
        chance = random.Random(f"{lost} {swaps} {seed}")
        dialogue = Dialogue().logged_in()
        before = len(dialogue.segments)
        for n in range(300):
            dialogue.ask(b"SELECT %03d" % n, rows([b"v" * 300] * (n % 11 + 1)))
        places = [i for i, s in enumerate(dialogue.segments) if i > before and s.way in lost and s.payload]
        gone = set(chance.sample(places, 12))
        kept = [(i, s) for i, s in enumerate(dialogue.segments) if i not in gone]
        for at in chance.sample(range(before, len(kept) - 1), swaps):
            kept[at], kept[at + 1] = kept[at + 1], kept[at]
        found, _, _ = events(write_pcap(tmp_path / "a.pcap", [(dialogue, s) for _, s in kept]))
        queries = {int(e["statement"][7:]): e for e in found if e["statement"]}
        hit = {int(s.payload[12:15]) if s.way == CLIENT else None for s in map(dialogue.segments.__getitem__, gone)}
        assert not [n for n, e in queries.items() if e["rows_sent"] not in (None, n % 11 + 1)], seed
        unanswered = [n for n, e in queries.items() if e["errno"] is None]
        assert len(unanswered) <= sum(dialogue.segments[i].way == SERVER for i in gone), (seed, unanswered)
        assert set(range(300)) - queries.keys() == hit - {None}, seed


@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2])
def test_command_with_missing_bytes_keeps_its_response(tmp_path: Path, first: int, count: int) -> None:
    """The packet header contains the length of a damaged command, so the end of the command is known. The command is
    marked as truncated, and later commands are complete.
    """
    dialogue = Dialogue().logged_in()
    dialogue.ask(b"SELECT '" + b"z" * 8000 + b"'", rows([b"1"] * 3)).ask(b"SELECT 2", rows([b"2"] * 2)).close()
    at = next(i for i, s in enumerate(dialogue.segments) if s.way == CLIENT and len(s.payload) == 1400) + first
    pairs = [(dialogue, s) for i, s in enumerate(dialogue.segments) if not at <= i < at + count]
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", pairs))
    told = [(e["errno"], e["rows_sent"], bool(e["flags"] & FLAGS["truncated"])) for e in found if e["statement"]]
    assert told == [(0, 3, True), (0, 2, False)]
    assert problems == ["lost_packets"]


def test_damaged_command_does_not_change_the_session(tmp_path: Path) -> None:
    """A partial USE does not change the schema. A partial PREPARE does not define a statement."""
    dialogue = Dialogue().logged_in()
    prepared = packet(1, b"\0" + struct.pack("<IHH", 9, 0, 0) + b"\0\0\0")
    dialogue.ask(b"USE shop_archive", ok(1)).ask(b"SELECT 1", rows([b"1"]))
    dialogue.say(CLIENT, packet(0, b"\x16SELECT a FROM t")).say(SERVER, prepared)
    dialogue.say(CLIENT, packet(0, b"\x17" + struct.pack("<IBI", 9, 0, 1))).say(SERVER, ok(1)).close()
    for segment in dialogue.segments:
        if b"shop_archive" in segment.payload or b"SELECT a" in segment.payload:
            segment.cut = 5
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [e["db"] for e in found if e["statement"] == b"SELECT 1"] == [None]
    assert [e["statement"] for e in found if e["command"] == "execute"] == [None]


def test_problem_names_the_connection_and_command(tmp_path: Path) -> None:
    """A problem about a mismatched response contains the client, the command and the number of bytes. It shows no
    content of the response.
    """
    dialogue = Dialogue().logged_in()
    dialogue.ask(b"SELECT 1", packet(1, b"\x03def") + packet(2, b"secret"))
    dialogue.say(CLIENT, packet(3, b"\x03secret"))
    dialogue.close()
    path = write_pcap(tmp_path / "a.pcap", [(dialogue, s) for s in dialogue.segments])
    problems = read_all(open_packets([path])).problems
    assert problems
    for problem in problems:
        assert re.search(r'found "[0-9.]+:\d+, [a-z ]+: \d+ bytes"', problem["detail"])
        assert "secret" not in problem["detail"]


def test_snapshot_length_marks_cut_statements(tmp_path: Path) -> None:
    """The truncated flag keeps a replay from sending cut statements."""
    dialogue = Dialogue().logged_in().ask(b"SELECT 'a rather long statement'", rows([b"1"]))
    dialogue.segments[-2].cut = 10
    found, _, described = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    cut = next(e for e in found if e["command"] == "query")
    assert cut["flags"] & TRUNCATED
    assert cut["statement"] == b"SELECT 'a rather long "
    assert (cut["errno"], cut["rows_sent"]) == (0, 1)
    assert described["cut_segments"] == 1


def test_reused_port_is_a_new_session(tmp_path: Path) -> None:
    """Two sessions have equal addresses, with no FIN between them. A repeated SYN does not start a new session."""
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


def test_connection_can_be_joined_in_mid_stream(tmp_path: Path) -> None:
    """If the capture misses the login, the account is unknown. Later statements are read. A partial response before the
    first statement is ignored.
    """
    dialogue = Dialogue().logged_in().ask(b"SELECT before", rows([b"v" * 700] * 10))
    dialogue.ask(b"SELECT after", rows([b"1", b"2"])).ask(b"\0\1SELECT attributes", ok(1)).close()
    start = next(i for i, s in enumerate(dialogue.segments) if b"SELECT before" in s.payload) + 2
    pairs = [(dialogue, s) for s in dialogue.segments[start:]]
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", pairs))
    assert statements_and_results(found) == [
        ("query", b"SELECT after", 2, 0),
        ("query", b"SELECT attributes", None, 0),
        ("quit", None, None, 0),
    ]
    assert {(e["user"], e["db"], e["thread_id"]) for e in found} == {(None, None, None)}
    assert problems == ["joined_midway"]


def test_encrypted_connections_are_counted(tmp_path: Path) -> None:
    """Nothing is read after an SSLRequest. The tape contains the number of encrypted connections."""
    caps = MYSQL_CAPS | SSL
    secret = Dialogue(client_port=41000).open().say(SERVER, greeting(caps))
    secret.say(CLIENT, packet(1, struct.pack("<IIB", caps, 1 << 24, 255) + bytes(23))).say(CLIENT, query(b"SELECT no"))
    path = write_pcap(tmp_path / "a.pcap", [secret, shop()])
    found, problems, described = events(path)
    assert statements_and_results(found) == SHOP
    assert (described["encrypted"], described["connections"], problems) == (1, 2, [])
    info = capture_source(SOURCES["packets"], [str(path)], tmp_path / "t.tape", Settings())
    assert info["warnings"][0]["text"].startswith("encrypted connections that are not on the tape: 1 of 2")


def test_proxy_protocol_gives_the_client_address(tmp_path: Path) -> None:
    """In PROXY protocol versions 1 and 2, the header contains the host and port of the client instead of the proxy."""
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
    capture_source(SOURCES["packets"], [str(path)], tmp_path / "t.tape", Settings())
    assert found_on(tmp_path / "t.tape", "SELECT port FROM sessions ORDER BY session") == [(55555,), (55556,)]


def test_cut_capture_file_keeps_earlier_events(tmp_path: Path) -> None:
    """tcpdump was killed while it wrote a packet. The partial packet is a problem."""
    path = write_pcap(tmp_path / "a.pcap", [shop()])
    path.write_bytes(path.read_bytes()[:-30])
    found, problems, _ = events(path)
    assert statements_and_results(found)[:5] == SHOP[:5]
    assert "damaged_capture" in problems


FIN, RST = 0x11, 0x14


@pytest.mark.parametrize(
    "ends",
    [
        [(CLIENT, FIN), (SERVER, FIN)],
        [(SERVER, FIN), (CLIENT, FIN)],
        [(CLIENT, RST)],
        [(SERVER, RST)],
        [(SERVER, FIN), (CLIENT, RST)],
    ],
)
def test_connection_ends_when_both_directions_end(tmp_path: Path, ends: list[tuple[int, int]]) -> None:
    """A live capture drops a connection's state after a FIN in both directions or after a reset. Later packets without
    a SYN are ignored.
    """
    dialogue = Dialogue().logged_in().ask(b"SELECT 1", rows([b"1"]))
    for way, flags in ends:
        dialogue.raw(way, b"", flags)
    dialogue.say(CLIENT, query(b"SELECT late")).say(SERVER, rows([b"2"]))
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [e["statement"] for e in found] == [None, b"SELECT 1"]
    assert (problems, described["gaps"]) == ([], 0)


@pytest.mark.parametrize("early", [False, True])
def test_half_closed_connection_stays_open(tmp_path: Path, early: bool) -> None:
    """The client sends a FIN, and the response follows. A packet with a FIN may be captured before the client's last
    data.
    """
    dialogue = Dialogue().logged_in().say(CLIENT, query(b"SELECT 1"))
    dialogue.raw(CLIENT, b"", FIN)
    if early:
        dialogue.segments[-2:] = dialogue.segments[:-3:-1]
    dialogue.say(SERVER, rows([b"1", b"2"]))
    dialogue.raw(SERVER, b"", FIN)
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [(e["statement"], e["rows_sent"]) for e in found] == [(None, None), (b"SELECT 1", 2)]
    assert (problems, described["gaps"]) == ([], 0)
