# SPDX-License-Identifier: Apache-2.0
"""Faults that would make a wrong tape without a word: each was put into the code, and is noticed here."""

import json
import struct
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.native.bindings.parsers import open_slowlog
from querytape.native.bindings.statements import Mode, Normalizer
from querytape.schemas import FLAGS

from tests.helpers.dialogue import (
    CLIENT,
    MYSQL_CAPS,
    SERVER,
    Dialogue,
    column,
    eof,
    greeting,
    lenenc,
    ok,
    packet,
    query,
    rows,
    write_pcap,
)
from tests.helpers.duck import database
from tests.helpers.reading import Read, events, read_all, read_quickly
from tests.native.bindings.test_readers import KINDS

CONNECT_ATTRS = 1 << 20
MODES = tuple(Mode(reading, charset, 7) for charset in range(4) for reading in range(4))
SECRET_WORDS = (
    "passw",
    "pwd",
    "secret",
    "token",
    "credential",
    "api_key",
    "apikey",
    "private_key",
    "access_key",
    "crypt_key",
)


def general(tmp_path: Path, text: str, timezone_ns: int | None = None) -> Read:
    """Return what is read of rows of a general log."""
    path = tmp_path / "general.log"
    head = "/usr/sbin/mysqld, Version: 8.0.31 (MySQL). started with:\nTcp port: 3306  Unix socket: /s\n"
    path.write_text(f"{head}Time                 Id Command    Argument\n{text}")
    return read_all(SOURCES["general"].open([str(path)], Settings(timezone_ns)))


def slow(tmp_path: Path, header: str) -> Read:
    """Return what is read of one entry of a slow log."""
    path = tmp_path / "slow.log"
    start = "# Time: 2026-11-22T07:00:00.000000Z\n# User@Host: app[app] @  [10.0.0.1]  Id:     8\n"
    path.write_text(f"{start}{header}\nSET timestamp=1795330800;\nSELECT 1;\n")
    return read_all(open_slowlog([path]))


def test_a_zone_east_of_utc_has_earlier_utc_times(tmp_path: Path) -> None:
    """Local times less the zone; a row that shows its own zone needs none."""
    local = "261122  9:00:00\t    7 Query\tSELECT 1\n"
    at = [general(tmp_path, local, hours * 3_600_000_000_000).events[0]["start_ns"] for hours in (0, 2, -3)]
    assert [(ns - at[0]) // 3_600_000_000_000 for ns in at] == [0, -2, 3]
    zoned = [
        general(tmp_path, f"2026-11-22T09:00:00.000000{zone}\t    7 Query\tSELECT 1\n").events[0]["start_ns"]
        for zone in ("Z", "+02:00", "-03:00")
    ]
    assert [(ns - zoned[0]) // 3_600_000_000_000 for ns in zoned] == [0, -2, 3]


def test_a_connect_ends_the_session_before(tmp_path: Path) -> None:
    """The server gives thread ids again: what connects is another session, though no Quit was logged."""
    text = "".join(
        f"2026-11-22T07:00:0{n}.000000Z\t    7 {row}\n"
        for n, row in enumerate(("Connect\tapp@web1 on shop using TCP/IP", "Query\tSELECT 1") * 2)
    )
    assert [(e["session"], e["seq"]) for e in general(tmp_path, text).events] == [(1, 1), (1, 2), (2, 1), (2, 2)]


@pytest.mark.parametrize(("number", "killed"), [("0", False), ("1317", True)])
def test_killed_is_a_number(number: str, killed: bool, tmp_path: Path) -> None:
    """Percona Server and MySQL print `Killed: 0` with every entry."""
    line = f"# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1 Thread_id: 8 Errno: 0 Killed: {number}"
    (event,) = slow(tmp_path, line).events
    assert bool(event["flags"] & FLAGS["killed"]) is killed


@pytest.mark.parametrize("text", ["18446744073708.79", "18446744073709551615.000000", "-0.1"])
def test_a_time_that_cannot_be_is_unknown(text: str, tmp_path: Path) -> None:
    """Not 584,942 years, and not 0: servers print underflows."""
    read = slow(tmp_path, f"# Query_time: {text}  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1")
    assert [event["duration_ns"] for event in read.events] == [None]
    assert read.kinds == ["bad_query_time"]


def test_affected_rows_of_several_results_are_summed(tmp_path: Path) -> None:
    """Each of the statements in one command changed some."""
    dialogue = Dialogue().logged_in()
    answer = ok(1, affected=3, status=10) + ok(2, affected=4, status=10) + ok(3, affected=5)
    dialogue.ask(b"UPDATE a; UPDATE b; UPDATE c", answer).close()
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert found[1]["rows_affected"] == 12


def test_long_data_counts_once(tmp_path: Path) -> None:
    """An execution takes what was sent ahead; the next one has its values itself."""
    dialogue = Dialogue().logged_in()
    prepared = packet(1, b"\0" + struct.pack("<IHH", 9, 1, 1) + b"\0\0\0") + column(2) + eof(3) + column(4) + eof(5)
    dialogue.say(CLIENT, packet(0, b"\x16SELECT ?")).say(SERVER, prepared)
    answer = packet(1, b"\1") + column(2) + eof(3) + packet(4, b"\0\0" + lenenc(b"r")) + eof(5)
    head = struct.pack("<IBI", 9, 0, 1) + b"\0\1\xfd\0"
    dialogue.say(CLIENT, packet(0, b"\x18" + struct.pack("<IH", 9, 0) + b"long"))
    dialogue.say(CLIENT, packet(0, b"\x17" + head)).say(SERVER, answer)
    dialogue.say(CLIENT, packet(0, b"\x17" + head + lenenc(b"text"))).say(SERVER, answer).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [e["params"][:1] for e in found if e["command"] == "execute"] == [b"D", b"E"]
    assert problems == []


def test_attributes_are_json(tmp_path: Path) -> None:
    """Whatever is in them: a Windows path, quotes, control characters."""
    values = {"program_name": "C:\\app\\new.exe", 'a"b': "tab\t, line\n", "x": "é"}
    text = b"".join(lenenc(word.encode()) for pair in values.items() for word in pair)
    caps = MYSQL_CAPS | CONNECT_ATTRS
    login = struct.pack("<IIB23x", caps, 1 << 24, 45) + b"app\0\0shop\0mysql_native_password\0" + lenenc(text)
    dialogue = Dialogue().open().say(SERVER, greeting(caps)).say(CLIENT, packet(1, login)).say(SERVER, ok(2))
    dialogue.ask(b"SELECT 1", rows([b"1"])).close()
    pcap = write_pcap(tmp_path / "a.pcap", [dialogue])
    capture_source(SOURCES["packets"], [str(pcap)], tmp_path / "a.tape", Settings(extra={"port": (3306,)}))
    with database() as con:
        shown = con.execute(f"SELECT attributes FROM '{tmp_path}/a.tape/sessions.parquet'").fetchall()[0][0]
    assert json.loads(shown) == values


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
def test_the_end_of_both_ways_ends_a_connection(tmp_path: Path, ends: list[tuple[int, int]]) -> None:
    """A live capture keeps nothing of it: what comes after it without an opening is not looked at."""
    dialogue = Dialogue().logged_in().ask(b"SELECT 1", rows([b"1"]))
    for way, flags in ends:
        dialogue.raw(way, b"", flags)
    dialogue.say(CLIENT, query(b"SELECT late")).say(SERVER, rows([b"2"]))
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [e["statement"] for e in found] == [None, b"SELECT 1"]
    assert (problems, described["gaps"]) == ([], 0)


@pytest.mark.parametrize("early", [False, True])
def test_one_way_that_has_ended_ends_nothing(tmp_path: Path, early: bool) -> None:
    """The client has said its last: the answer still comes, be the end of its way seen before what is in front of it."""
    dialogue = Dialogue().logged_in().say(CLIENT, query(b"SELECT 1"))
    dialogue.raw(CLIENT, b"", FIN)
    if early:
        dialogue.segments[-2:] = dialogue.segments[:-3:-1]
    dialogue.say(SERVER, rows([b"1", b"2"]))
    dialogue.raw(SERVER, b"", FIN)
    found, problems, described = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert [(e["statement"], e["rows_sent"]) for e in found] == [(None, None), (b"SELECT 1", 2)]
    assert (problems, described["gaps"]) == ([], 0)


@pytest.mark.parametrize("source", ["general", "slow"])
def test_no_problem_shows_a_password(source: str, tmp_path: Path) -> None:
    """Where its quote is never closed, either."""
    statement = "CREATE USER a@b IDENTIFIED BY 'hidden"
    if source == "general":
        read = general(
            tmp_path,
            f"2026-11-22T07:00:00.000000Z\t    7 Query\t{statement}\n"
            "2026-11-22T07:00:01.000000Z\t    7 Query\tSELECT 1\n",
        )
    else:
        path = tmp_path / "slow.log"
        entry = (
            "# Time: 2026-11-22T07:00:00.000000Z\n# User@Host: app[app] @  [10.0.0.1]  Id:     8\n"
            "# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795330800;\n"
        )
        path.write_text(f"{entry}{statement};\n{entry}SELECT 1;\n")
        read = read_all(open_slowlog([path]))
    assert "unbalanced_quote" in read.kinds
    assert not [problem for problem in read.problems if "hidden" in problem["detail"]]
    assert not [event for event in read.events if b"hidden" in (event["statement"] or b"")]


@pytest.mark.parametrize("source", ["general", "slow", "audit", "binlog"])
@pytest.mark.parametrize("first", [True, False])
def test_no_problem_of_what_is_not_understood_shows_a_password(source: str, first: bool, tmp_path: Path) -> None:
    """A line that is part of nothing, at a log's beginning and in its middle, is shown without its secrets."""
    open_log, write = KINDS[source]
    path, lines = tmp_path / "log", write([b"SELECT 1", b"SELECT 2"]).splitlines(keepends=True)
    for garbage in (
        b"CREATE USER a@b IDENTIFIED BY 'hidden'\n",
        b"ALTER USER a IDENTIFIED BY 'hidden",
        b"SET PASSWORD = 'hidden'",
    ):
        for at in range(1) if first else range(1, len(lines)):
            path.write_bytes(b"".join([*lines[:at], garbage, b"\n", *lines[at:]]))
            read = read_quickly(open_log([str(path)]))
            assert not [problem for problem in read.problems if "hidden" in problem["detail"]], (garbage, at)


@pytest.mark.parametrize("word", SECRET_WORDS)
def test_every_word_for_a_secret(word: str) -> None:
    """A variable or an option of such a name has its value redacted, in any case of letters."""
    for name in (word, word.upper(), f"my_{word}_x"):
        redacted = Normalizer().normalize(f"SET GLOBAL {name} = 'hidden'".encode()).redacted
        assert redacted is not None, name
        assert b"hidden" not in redacted


@pytest.mark.parametrize(
    "statement",
    [
        b'ALTER USER a IDENTIFIED BY "x\\" /* ", "hidden" */',
        b'ALTER USER a IDENTIFIED BY "x\\", b IDENTIFIED BY "hidden"',
        b"ALTER USER a IDENTIFIED BY 'x\\', b IDENTIFIED BY 'hidden'",
        # Here every quote closes in both readings.
        b'ALTER USER a IDENTIFIED BY "x\\", b IDENTIFIED BY "hidden" /* \\" " */',
        b"ALTER USER a IDENTIFIED BY 'x\\', b IDENTIFIED BY 'hidden' /* \\' ' */",
    ],
)
def test_a_secret_whose_quote_a_backslash_ends(statement: bytes) -> None:
    """Under NO_BACKSLASH_ESCAPES the literal ends at the quote behind the backslash: both ways to read are redacted."""
    redacted = Normalizer().normalize(statement).redacted
    assert redacted is not None
    assert b"hidden" not in redacted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "statement",
    [
        b'ALTER USER a IDENTIFIED BY "hidden"',
        b'SET PASSWORD FOR a = "hidden"',
        b"SELECT \"hidden\", SHA2('x', 256)",
        b'CREATE USER "x"@"hidden" IDENTIFIED BY "hidden"',
        b'SELECT "hidden" /* password=x */',
    ],
)
def test_a_secret_in_double_quotes(statement: bytes, mode: Mode) -> None:
    """Of a statement that holds a secret, where they quote names in this session as well: logs hold what failed."""
    redacted = Normalizer().normalize(statement, mode).redacted
    assert redacted is not None
    assert b"hidden" not in redacted
