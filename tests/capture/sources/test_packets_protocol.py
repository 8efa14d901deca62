# SPDX-License-Identifier: Apache-2.0
"""The MySQL protocol: commands and responses in every form, from handmade conversations."""

import json
import struct
import zlib
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.schemas import FLAGS

from ...helpers.dialogue import (
    CLIENT,
    COMPRESS,
    DEPRECATE_EOF,
    MYSQL_CAPS,
    QUERY_ATTRIBUTES,
    SERVER,
    SESSION_TRACK,
    Dialogue,
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
from ...helpers.reading import events, statements_and_results
from ...helpers.tape_tools import found as found_on

pytestmark = pytest.mark.slow
TRUNCATED = FLAGS["truncated"]


@pytest.mark.parametrize("caps", [MYSQL_CAPS, MYSQL_CAPS | DEPRECATE_EOF])
def test_multi_statements_are_one_event(tmp_path: Path, caps: int) -> None:
    """The event contains the sums of result rows and affected rows, and the first error."""
    dialogue = Dialogue().logged_in(caps)
    changes = ok(6, affected=3, status=10, warnings=4) + ok(7, affected=4, status=10)
    answer = rows([b"1", b"2"], caps, status=10) + changes + rows([b"3"], caps, seq=8)
    dialogue.ask(b"SELECT 1; UPDATE t; UPDATE u; SELECT 2", answer)
    broken = rows([b"1"], caps, status=10) + err(6, 1146, b"no table")
    dialogue.ask(b"SELECT 1; SELECT nope; SELECT 3", broken).ask(b"SELECT 4", rows([b"4"], caps)).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [(e["rows_sent"], e["rows_affected"], e["errno"]) for e in found[1:4]] == [
        (3, 7, 0),
        (1, None, 1146),
        (1, None, 0),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("sent", "unanswered"),
    [
        ([packet(0, b"")], 0),
        ([packet(3, b"\3SELECT 0")], 0),
        ([query(b"SELECT 2")] * 1025, 1024),  # maximum number of commands without a response that are kept
        ([query(b"SELECT 2")] * 1024, None),
    ],
    ids=["empty", "another sequence", "too many", "many"],
)
def test_invalid_command_is_a_problem(tmp_path: Path, sent: list[bytes], unanswered: int | None) -> None:
    """Commands before the invalid one that wait for a response get none. The next valid command is read."""
    dialogue = Dialogue().logged_in().ask(b"SELECT 1", rows([b"1"])).say(CLIENT, b"".join(sent))
    dialogue.say(SERVER, rows([b"2"]) * (len(sent) if len(sent) > 1 else 0))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.ask(b"SELECT 3", rows([b"3"])).close()]))
    assert [e["statement"] for e in found if e["rows_sent"] == 1 and e["statement"] != b"SELECT 2"] == [
        b"SELECT 1",
        b"SELECT 3",
    ]
    answered = [e["rows_sent"] == 1 for e in found if e["statement"] == b"SELECT 2"]
    assert answered == ([True] * len(sent) if unanswered is None else [False] * unanswered)
    assert problems == ([] if unanswered is None else ["not_a_command"])


@pytest.mark.parametrize("switched", [False, True])
def test_login_response_counts_all_its_packets(tmp_path: Path, switched: bool) -> None:
    """The size of a login response includes a packet that requests another authentication method. The server's greeting
    does not count.
    """
    dialogue = Dialogue().open().say(SERVER, greeting(MYSQL_CAPS)).say(CLIENT, login(MYSQL_CAPS))
    ask, done = packet(2, b"\xfemysql_native_password\0" + b"salt" * 5 + b"\0"), ok(4 if switched else 2)
    if switched:
        dialogue.say(SERVER, ask).say(CLIENT, packet(3, bytes(20)))
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.say(SERVER, done).close()]))
    assert (found[0]["command"], found[0]["bytes_sent"]) == ("connect", len(ask) * switched + len(done))


def test_query_attributes_are_not_part_of_the_statement(tmp_path: Path) -> None:
    """A command has no attributes, or a string, a number and a NULL as attributes. The SQL text follows the attributes."""
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


def test_schema_changes_are_followed(tmp_path: Path) -> None:
    """COM_INIT_DB, USE and session tracking change the schema. A failed USE does not change it."""
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


@pytest.mark.parametrize("known", [b"SET sql_mode = 'ANSI_QUOTES'", b"SET sql_mode = 'ANSI_QUOTES', NAMES sjis"])
@pytest.mark.parametrize(
    ("command", "forgets"),
    [(b"\x1f", True), (b"\x11app\0\0shop\0\x21\0mysql_native_password\0", True), (b"\x0e", False), (b"\2shop", False)],
)
def test_reset_and_change_user_reset_the_sql_mode(command: bytes, forgets: bool, known: bytes, tmp_path: Path) -> None:
    """After COM_RESET_CONNECTION and COM_CHANGE_USER, double quotes enclose a string literal again. Other commands do
    not change the sql_mode.
    """
    dialogue = Dialogue().logged_in()
    dialogue.ask(known, ok(1)).ask(b'SELECT "a" FROM t', rows([b"1"]))
    dialogue.say(CLIENT, packet(0, command)).say(SERVER, ok(1)).ask(b'SELECT "a" FROM t', rows([b"1"])).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    digests = [e["digest"] for e in found if e["statement"] == b'SELECT "a" FROM t']
    assert len(digests) == 2
    assert (digests[0] != digests[1]) == forgets
    assert problems == []


def prepare_ok(statement: int, columns: int, params: int) -> bytes:
    """Return the response to a PREPARE."""
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


def test_query_attributes_of_executions_are_read(tmp_path: Path) -> None:
    """MySQL 8 clients send parameter names. Without query attributes, params equal those of a plain execution. With
    attributes, params begin with `N`.
    """
    dialogue = Dialogue().logged_in(MYSQL_CAPS | QUERY_ATTRIBUTES)
    dialogue.say(CLIENT, packet(0, b"\x16SELECT ?")).say(SERVER, prepare_ok(1, 0, 1))
    head = struct.pack("<IBI", 1, 8, 1)
    named = b"\3\0" + lenenc(b"")
    bodies = [
        head + b"\1" + b"\0\1" + named + struct.pack("<i", 1),
        head + b"\1" + b"\0\0" + struct.pack("<i", 2),
        head + b"\2" + b"\0\1" + named + b"\xfd\0" + lenenc(b"trace") + struct.pack("<i", 3) + lenenc(b"abc"),
    ]
    for body in bodies:
        dialogue.say(CLIENT, packet(0, b"\x17" + body)).say(SERVER, ok(1))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    plain = b"\0" + struct.pack("<I", 1) + b"\0\1"
    assert [e["params"] for e in found if e["command"] == "execute"] == [
        b"E\1" + plain + b"\3\0" + struct.pack("<i", 1),
        b"E\1" + plain + b"\3\0" + struct.pack("<i", 2),
        b"N\2\0" + plain + b"\3\0\xfd\0" + struct.pack("<i", 3) + lenenc(b"abc") + lenenc(b"") + lenenc(b"trace"),
    ]
    assert problems == []


@pytest.mark.parametrize("flags", [0, 8])
@pytest.mark.parametrize("agreed", [True, False])
@pytest.mark.parametrize("midway", [True, False])
def test_negotiated_attributes_add_a_count_to_each_execution(
    tmp_path: Path, flags: int, agreed: bool, midway: bool
) -> None:
    """If client and server negotiated query attributes, each execution with parameters has a count and names,
    regardless of its flags. Without the negotiation, it has neither. If the login is missing, the form of the packet
    shows whether attributes were negotiated.
    """
    dialogue = Dialogue().logged_in(MYSQL_CAPS | (QUERY_ATTRIBUTES if agreed else 0))
    login_segments = len(dialogue.segments)
    dialogue.say(CLIENT, packet(0, b"\x16SELECT ?, ?")).say(SERVER, prepare_ok(1, 0, 2))
    head = struct.pack("<IBI", 1, flags if agreed else 0, 1)
    types = b"\3\0" + (lenenc(b"") if agreed else b"") + b"\xfd\0" + (lenenc(b"") if agreed else b"")
    count = b"\2" if agreed else b""
    values = [struct.pack("<i", n) + lenenc(b"text %d" % n) for n in range(4)]
    for value in values[:2]:
        dialogue.say(CLIENT, packet(0, b"\x17" + head + count + b"\0\1" + types + value)).say(SERVER, ok(1))
    for value in values[2:]:
        dialogue.say(CLIENT, packet(0, b"\x17" + head + count + b"\0\0" + value)).say(SERVER, ok(1))
    dialogue.close()
    pairs = [(dialogue, s) for s in dialogue.segments[login_segments if midway else 0 :]]
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", pairs))
    plain = b"\0" + struct.pack("<I", 1) + b"\0\1\3\0\xfd\0"
    assert [e["params"] for e in found if e["command"] == "execute"] == [b"E\2" + plain + value for value in values]
    assert problems == (["joined_midway"] if midway else [])


def files_loaded(tmp_path: Path, execute: bool, files: list[list[bytes]], attributes: bool = False) -> bytes | None:
    """Return the params of a command whose response requests some files. The client sends each file in pieces."""
    dialogue = Dialogue().logged_in(MYSQL_CAPS | (QUERY_ATTRIBUTES if attributes else 0))
    text = b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t SET a = ?"
    if execute:
        dialogue.say(CLIENT, packet(0, b"\x16" + text)).say(SERVER, prepare_ok(1, 0, 1))
        request = b"\x17" + struct.pack("<IBI", 1, 0, 1) + b"\0\1\3\0" + struct.pack("<i", 7)
    else:
        named = b"\1\1\0\1\xfd\0" + lenenc(b"trace") + lenenc(b"abc")
        request = b"\3" + (named if attributes else b"") + text
    dialogue.say(CLIENT, packet(0, request)).say(SERVER, packet(1, b"\xfbx"))
    for number, pieces in enumerate(files):
        seq = 2
        for piece in (*pieces, b""):
            dialogue.say(CLIENT, packet(seq, piece), mss=60000)
            seq += 1
        more = number + 1 < len(files)
        dialogue.say(SERVER, ok(seq, affected=1, status=10 if more else 2))
        if more:
            dialogue.say(SERVER, packet(seq + 1, b"\xfbx"))
    dialogue.close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue], step_us=1))
    assert problems == []
    assert [e["command"] for e in found] == ["connect", *(["prepare", "execute"] if execute else ["query"]), "quit"]
    assert found[-2]["rows_affected"] == len(files)
    return found[-2]["params"]


def test_local_infile_contents_are_on_the_tape(tmp_path: Path) -> None:
    """The test uses empty files, several files of one command, and files in commands with attributes and parameters."""
    assert files_loaded(tmp_path, False, [[]]) == b"I"
    assert files_loaded(tmp_path, False, [[b"a\t\3\n", b"b\n"]]) == b"Ia\t\3\nb\n"
    assert files_loaded(tmp_path, False, [[b"a\n"], [], [b"c", b"d"]]) == b"S\0\2a\n\0\2cd"
    own = b"E\1\0" + struct.pack("<I", 1) + b"\0\1\3\0" + struct.pack("<i", 7)
    assert files_loaded(tmp_path, True, [[b"a\n"]]) == b"S" + lenenc(own) + b"\2a\n"
    assert files_loaded(tmp_path, True, [[]]) == b"S" + lenenc(own) + b"\0"
    attribute = b"A\1\1\0\1\xfd\0" + lenenc(b"trace") + lenenc(b"abc")
    assert files_loaded(tmp_path, False, [[b"a\n"]], attributes=True) == b"S" + lenenc(attribute) + b"\2a\n"


def test_local_file_in_packets_of_maximum_length_is_complete(tmp_path: Path) -> None:
    """A piece of the maximum length is continued by an empty packet. This empty packet does not mark the end of the
    file.
    """
    largest = b"x" * 0xFFFFFF
    dialogue = Dialogue().logged_in().say(CLIENT, query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"))
    dialogue.say(SERVER, packet(1, b"\xfbx"))
    dialogue.say(CLIENT, struct.pack("<I", 0x02FFFFFF) + largest + struct.pack("<I", 3 << 24), mss=60000)
    dialogue.say(CLIENT, struct.pack("<I", 0x04000003) + b"end" + struct.pack("<I", 5 << 24)).say(SERVER, ok(6))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()], step_us=1))
    assert (found[1]["params"], problems) == (b"I" + largest + b"end", [])


def test_interrupted_local_file_marks_its_statement_as_cut(tmp_path: Path) -> None:
    """The connection ends during the transfer of a local file."""
    dialogue = Dialogue().logged_in().say(CLIENT, query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"))
    dialogue.say(SERVER, packet(1, b"\xfbx")).say(CLIENT, packet(2, b"half"))
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    assert found[1]["flags"] & TRUNCATED


def frames(payload: bytes, seq: int, size: int) -> bytes:
    """Return the bytes as compressed frames of `size` bytes each. Every third frame is stored uncompressed."""
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
def test_compressed_frames_may_split_and_join_packets(tmp_path: Path, size: int) -> None:
    """Compression with zlib starts after the login. Frame boundaries are independent of packet boundaries."""
    caps = MYSQL_CAPS | COMPRESS
    dialogue = Dialogue().logged_in(caps)
    dialogue.say(CLIENT, frames(query(b"SELECT x FROM t"), 0, size))
    dialogue.say(SERVER, frames(rows([b"v" * 50] * 40), 1, size))
    dialogue.say(CLIENT, frames(packet(0, b"\1"), 0, size))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert statements_and_results(found) == [
        ("connect", None, None, 0),
        ("query", b"SELECT x FROM t", 40, 0),
        ("quit", None, None, 0),
    ]
    assert problems == []


@pytest.mark.long
def test_statements_and_rows_above_16_mib_are_read(tmp_path: Path) -> None:
    """Several packets of 16 MiB - 1 bytes form one statement or one row."""
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


def test_row_checksums_depend_on_values_and_order(tmp_path: Path) -> None:
    """Equal rows in the same order give equal checksums. Another order changes only the first checksum. Different rows
    change both checksums.
    """
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


@pytest.mark.long
def test_statement_of_many_packets_is_complete(tmp_path: Path) -> None:
    """A statement of more than 64 MiB is kept completely. Only the server limits its size."""
    text = b"SELECT '" + bytes(range(97, 123)) * (66 * 40_330) + b"'"
    payload, dialogue = b"\x03" + text, Dialogue().logged_in()
    dialogue.say(CLIENT, packet(0, payload), mss=60_000).say(SERVER, ok(1 + len(payload) // 0xFFFFFF))
    found, problems, _ = events(write_pcap(tmp_path / "large.pcap", [dialogue.close()], step_us=1))
    assert len(text) > 64 << 20
    assert (found[1]["statement"] == text, found[1]["flags"] & FLAGS["truncated"], problems) == (True, 0, [])


CONNECT_ATTRS = 1 << 20


def test_connection_attributes_are_json(tmp_path: Path) -> None:
    """Attribute values may contain a Windows path, quotes and control characters."""
    values = {"program_name": "C:\\app\\new.exe", 'a"b': "tab\t, line\n", "x": "é"}
    text = b"".join(lenenc(word.encode()) for pair in values.items() for word in pair)
    caps = MYSQL_CAPS | CONNECT_ATTRS
    login = struct.pack("<IIB23x", caps, 1 << 24, 45) + b"app\0\0shop\0mysql_native_password\0" + lenenc(text)
    dialogue = Dialogue().open().say(SERVER, greeting(caps)).say(CLIENT, packet(1, login)).say(SERVER, ok(2))
    dialogue.ask(b"SELECT 1", rows([b"1"])).close()
    pcap = write_pcap(tmp_path / "a.pcap", [dialogue])
    capture_source(SOURCES["packets"], [str(pcap)], tmp_path / "a.tape", Settings(extra={"port": (3306,)}))
    ((shown,),) = found_on(tmp_path / "a.tape", "SELECT attributes FROM sessions")
    assert json.loads(shown) == values
