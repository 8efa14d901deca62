# SPDX-License-Identifier: Apache-2.0
"""Logs of the server_audit plugin: who sent what, what was cut, and Aurora's rows in no order."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source, detect_source
from querytape.capture.library import capture
from querytape.common.errors import InputError
from querytape.schemas import open_folder

from tests.helpers.duck import query
from tests.helpers.reading import Read, read_all, read_quickly

ROWS = """20261120 15:21:05,db1,app,web1,29,0,CONNECT,shop,,0
20261120 15:21:05,db1,app,web1,29,344,QUERY,shop,'SELECT \\'it\\'',0
20261120 15:21:06,db1,app,web1,29,345,QUERY,shop,'SELECT x FROM nowhere',1146
20261120 15:21:07,db1,app,web1,29,0,DISCONNECT,shop,,0
"""
AURORA = """1795188065000300,db1,app,web1,29,2,QUERY,shop,'SELECT 2',0
1795188065000100,db1,app,web1,29,1,QUERY,shop,'SELECT 1',0
"""


def read(tmp_path: Path, text: str, **extra: int) -> Read:
    """Return what is read of a log."""
    path = tmp_path / "audit.log"
    path.write_text(text)
    assert detect_source(str(path), SOURCES.values()).name == "audit"
    return read_all(SOURCES["audit"].open([str(path)], Settings(extra=extra)))


def test_aurora_cannot_be_mixed(tmp_path: Path) -> None:
    """Logs of Aurora and of others have no common order."""
    (tmp_path / "a").write_text(ROWS)
    (tmp_path / "b").write_text(AURORA)
    with pytest.raises(InputError, match="mixed"):
        capture_source(SOURCES["audit"], [str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "t.tape", Settings())


def test_cut_statements_are_named(tmp_path: Path) -> None:
    """A statement as long as the server's limit was cut: the tape says how many there are."""
    path = tmp_path / "audit.log"
    path.write_text(f"20261120 15:21:05,db1,app,web1,29,344,QUERY,shop,'SELECT {'x' * 121}',0\n" + ROWS)
    settings = Settings(extra={"query_limit": 128})
    info = capture_source(SOURCES["audit"], [str(path)], tmp_path / "t.tape", settings)
    assert [warning["kind"] for warning in info["warnings"]] == ["cut"]


def row(
    time: str = "20261120 15:21:05",
    connection: str = "29",
    operation: str = "QUERY",
    behind: bytes = b"'SELECT 1',0",
) -> bytes:
    """Return a row of the log."""
    return f"{time},db1,app,web1,{connection},344,{operation},shop,".encode() + behind


def read_rows(tmp_path: Path, rows: list[bytes], limit: int = 1024) -> Read:
    """Return what is read of rows in UTC; the first and the last are as usual, and their events are left out."""
    path = tmp_path / "audit.log"
    path.write_bytes(b"\n".join([row(), *rows, row(connection="77")]) + b"\n")
    log = read_all(SOURCES["audit"].open([str(path)], Settings(timezone_ns=0, extra={"query_limit": limit})))
    assert [log.events[0]["thread_id"], log.events[-1]["thread_id"]] == [29, 77]
    del log.events[0], log.events[-1]
    return log


@pytest.mark.long
def test_every_field_of_a_time(tmp_path: Path) -> None:
    """Each field at every value: what a clock shows is read, what it never shows is not understood."""
    first, last = (1970, 1, 1, 0, 0, 0), (2199, 12, 31, 23, 59, 60)
    for field, values in enumerate([range(1960, 2210), *([range(100)] * 5)]):
        for value in values:
            at = [2026, 1, 20, 15, 21, 5]
            at[field] = value
            path = tmp_path / "audit.log"
            path.write_bytes(row("{:04d}{:02d}{:02d} {:02d}:{:02d}:{:02d}".format(*at)) + b"\n")
            log = read_quickly(SOURCES["audit"].open([str(path)], Settings(timezone_ns=0)))
            if not first[field] <= value <= last[field]:
                assert log.events == [], at
                assert "not_understood" in log.kinds, at
                continue
            day = datetime(at[0], at[1], at[2], tzinfo=UTC)
            moment = day + timedelta(hours=at[3], minutes=at[4], seconds=at[5])
            assert [event["start_ns"] // 10**9 for event in log.events] == [int(moment.timestamp())], at


@pytest.mark.parametrize("place", range(17))
@pytest.mark.parametrize("wrong", ["x", "/", ";", ""])
def test_a_time_with_a_wrong_letter(place: int, wrong: str, tmp_path: Path) -> None:
    """Any letter of a time that is another one, or missing, makes it none."""
    usual = "20261120 15:21:05"
    log = read_rows(tmp_path, [row(usual[:place] + wrong + usual[place + 1 :])])
    assert (len(log.events), log.kinds.count("not_understood")) == (0, 1)


def test_connections(tmp_path: Path) -> None:
    """A connection's number is digits alone, as many as 64 bits hold."""
    good = ["0", "7", "4294967296", "922337203685477580", "9223372036854775799"]
    bad = ["", "x", "-1", "1x", " 1", "1:", "1/", "92233720368547758070", "99999999999999999999"]
    log = read_rows(tmp_path, [row(connection=each) for each in (*good, *bad)])
    assert [event["thread_id"] for event in log.events] == [int(each) for each in good]
    assert log.kinds.count("not_understood") == len(bad)


def test_operations(tmp_path: Path) -> None:
    """Sessions and statements are events, uses of tables are skipped, anything else is not understood."""
    events = {"QUERY": "query", "CONNECT": "connect", "FAILED_CONNECT": "connect", "DISCONNECT": "quit"}
    tables = ["READ", "WRITE", "CREATE", "ALTER", "RENAME", "DROP"]
    bad = ["", "QUER", "QUERYX", "query", "CONNECTED", "READS", "REA", "XDROP"]
    rows = [row(operation=each, connection=str(100 + n)) for n, each in enumerate([*events, *tables, *bad])]
    log = read_rows(tmp_path, [*rows, row(operation="CHANGEUSER", connection="100")])
    assert [event["command"] for event in log.events] == [*events.values(), "change_user"]
    assert log.kinds.count("not_understood") == len(bad)
    assert [event["statement"] for event in log.events] == [b"SELECT 1", *([None] * 4)]


def test_what_is_behind_the_text(tmp_path: Path) -> None:
    """The code, also with the connection's type behind it; a row without a closed text or a code is none."""
    given = {
        b"'a',0": 0,
        b"'a',1146": 1146,
        b"'a',1146,SSL": 1146,
        b"'a',0,": 0,
        b"'a',": None,
        b"'a',x": None,
        b"'a',12x": None,
        b"'a',,5": None,
        b"'a,7',3": 3,
        b"'a\\'',4": 4,
        b"a,5": 5,
        b",6": 6,
    }
    bad = [b"'a'", b"'a'0", b"'a", b"'a,0", b"'a\\',0", b"a", b"", b"'a' ,0"]
    log = read_rows(tmp_path, [row(behind=each) for each in (*given, *bad)])
    assert [event["errno"] for event in log.events] == list(given.values())
    assert log.kinds.count("not_understood") == len(bad)


def test_escapes(tmp_path: Path) -> None:
    """Of each byte behind a backslash; one at the text's end stands for itself."""
    named = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"b": b"\b", b"Z": b"\x1a"}
    bytes_of = [bytes([n]) for n in range(256) if n not in b"\n\r"]
    rows = [row(behind=b"'SELECT 1 + \\" + each + b"2',0") for each in bytes_of]
    log = read_rows(tmp_path, rows)
    assert [event["statement"] for event in log.events] == [
        b"SELECT 1 + " + named.get(each, each) + b"2" for each in bytes_of
    ]


@pytest.mark.parametrize("length", [127, 128, 129])
def test_a_text_of_the_limit(length: int, tmp_path: Path) -> None:
    """A text of just the limit's length, without its escapes, is cut; a longer one was not, whatever the limit says."""
    text = b"SELECT \\'" + b"x" * (length - 8)
    log = read_rows(tmp_path, [row(behind=b"'" + text + b"',0")], limit=128)
    assert len(log.events[0]["statement"]) == length
    assert bool(log.events[0]["flags"] & 8) == (length == 128)


HOSTS = [  # as they are in the log; the host and port of the tape
    ("10.1.2.3:54312", "10.1.2.3", 54312),
    ("web1:1", "web1", 1),
    ("2001:db8::5:54399", "2001:db8::5", 54399),
    ("[fe80::1]:443", "fe80::1", 443),
    ("[fe80::1]:", "[fe80::1]:", None),
    ("localhost", "localhost", None),
    ("10.1.2.3", "10.1.2.3", None),
    ("::1", "::1", None),
    ("2001:db8::5:7777", "2001:db8::5:7777", None),
    ("web1:70000", "web1:70000", None),
    ("web1:", "web1:", None),
    (":80", ":80", None),
    ("", "", None),
]


@pytest.mark.parametrize(("written", "host", "port"), HOSTS)
def test_ports_behind_hosts(written: str, host: str, port: int | None, tmp_path: Path) -> None:
    """MariaDB 12 writes host:port; the last group of an IPv6 address is a port only where that is certain."""
    (tmp_path / "a.log").write_text(ROWS.replace(",web1,", f",{written},"))
    capture([tmp_path / "a.log"], tmp_path / "t.tape", "audit")
    tape = open_folder("tape", tmp_path / "t.tape")
    found = query(f"SELECT DISTINCT host FROM {tape.source('events')}")
    assert found == [(host,)]
    assert query(f"SELECT port FROM {tape.source('sessions')}") == [(port,)]


def test_short_ports_of_a_log_that_has_ports(tmp_path: Path) -> None:
    """Where another address of the log has a port, the last group of an IPv6 address is a port."""
    other = ROWS.replace(",web1,", ",::1:7777,").replace(",29,", ",30,")
    (tmp_path / "a.log").write_text(ROWS.replace(",web1,", ",10.1.2.3:54312,") + other)
    capture([tmp_path / "a.log"], tmp_path / "t.tape", "audit")
    tape = open_folder("tape", tmp_path / "t.tape")
    assert query(f"SELECT host, port FROM {tape.source('sessions')} ORDER BY 1") == [("10.1.2.3", 54312), ("::1", 7777)]


def test_whom_an_account_acts_for(tmp_path: Path) -> None:
    """A row of MariaDB 12 that is nothing lost."""
    log = read(tmp_path, ROWS + "20261120 15:21:08,db1,rep,10.1.2.9:5000,31,0,PROXY_CONNECT,shop,`app`@`%`,0\n")
    assert (len(log.events), log.problems, log.not_understood) == (4, [], 0)


AT_NS = 1_795_188_065 * 10**9  # 2026-11-20 15:21:05 UTC
TIMES = [  # as server_audit_timestamp_format or syslog writes it; nanoseconds behind AT_NS; its unit
    ("20261120T15:21:05.481161+0000", 481_161_000, 1000),
    ("20261120T16:21:05.481161+0100", 481_161_000, 1000),
    ("20261120T15:21:05.000000+0000", 0, 10**9),
    ("2026-11-20 15:21:05.250000", 250_000_000, 1000),
    ("2026-11-20T15:21:05.25Z", 250_000_000, 10**7),
    ("2026-11-20T10:21:05.250-05:00", 250_000_000, 10**6),
    ("2026-11-20 20:51:05 +05:30", 0, 10**9),
    ("2026/11/20 15:21:05", 0, 10**9),
    ("2026.11.20 15:21:05.123456789 UTC", 123_456_789, 1),
    ("20261120152105", 0, 10**9),
    ("20261120152105.5", 500_000_000, 10**8),
    ("20261120 152105", 0, 10**9),
    ("2026-Nov-20 15:21:05", 0, 10**9),
    ("2026 Nov 20 15:21:05.5 GMT", 500_000_000, 10**8),
    ("1795188065250000", 250_000_000, 1000),
]
NO_TIMES = [
    "20261120 15:21:05.", "20261120 15:21:05.x", "20261120 15:21:05.1234567890", "20261120 15:21:05 CET",
    "20261120 15:21:05+1", "20261120 15:21:05+01:6", "20261120 15:21:05+16:00", "20261120 15:21:05Zx", "2026112015:21:05",
    "2026-11-20152105", "2026-11/20 15:21:05", "2026-1120 15:21:05", "2026-Nox-20 15:21:05", "2026Nov2 15:21:05",
    "20261120 1521:05", "20261120 15:2105", "20.11.2026 15:21:05", "2026-11-20", "26-11-20 15:21:05", "2026-11-20 03:21 PM",
    "15:21:05", "2026", "-", " ",
]  # fmt: skip


@pytest.mark.parametrize(("time", "behind_ns", "unit_ns"), TIMES)
def test_formats_of_times(time: str, behind_ns: int, unit_ns: int, tmp_path: Path) -> None:
    """The kind is known, and events end then; a fraction of zero is none."""
    path = tmp_path / "audit.log"
    path.write_bytes(row(time) + b"\n")
    assert detect_source(str(path), SOURCES.values()).name == "audit"
    log = read_all(SOURCES["audit"].open([str(path)], Settings()))
    assert [event["precision_ns"] for event in log.events] == [unit_ns]
    whole = unit_ns == 10**9
    assert [event["start_ns"] // (10**9 if whole else 1) for event in log.events] == [
        AT_NS // 10**9 if whole else AT_NS + behind_ns
    ]


def test_times_that_are_none(tmp_path: Path) -> None:
    """They are not understood."""
    log = read_rows(tmp_path, [row(time) for time in NO_TIMES])
    assert (len(log.events), log.kinds.count("not_understood")) == (0, len(NO_TIMES))


def test_a_zone_in_the_log_wins(tmp_path: Path) -> None:
    """--log-timezone is of times without a zone."""
    path = tmp_path / "audit.log"
    path.write_bytes(row("20261120 16:21:05.5") + b"\n" + row("20261120T15:21:05.6+0000") + b"\n")
    log = read_all(SOURCES["audit"].open([str(path)], Settings(timezone_ns=3600 * 10**9)))
    assert [event["start_ns"] - AT_NS for event in log.events] == [500_000_000, 600_000_000]


def test_ports_of_another_file(tmp_path: Path) -> None:
    """That one file has ports behind its hosts says nothing of the next."""
    for name, host in (("a", "10.1.2.3:54312"), ("b", "2001:db8::7")):
        (tmp_path / name).write_text(f"20261120 15:21:05,db1,app,{host},{ord(name)},0,CONNECT,shop,,0\n")
    log = read_all(SOURCES["audit"].open([str(tmp_path / "a"), str(tmp_path / "b")], Settings()))
    assert [event["host"] for event in log.events] == ["10.1.2.3", "2001:db8::7"]


@pytest.mark.parametrize(("size", "kinds"), [(None, []), ("0", []), ("8192", ["buffered"])])
def test_rows_in_a_buffer(size: str | None, kinds: list[str], tmp_path: Path) -> None:
    """A server that was asked and buffers its log may have rows that the file has not."""
    (tmp_path / "audit.log").write_text(ROWS)
    variables = {} if size is None else {"server_audit_file_buffer_size": size}
    settings = Settings(server={"variables": variables})
    info = capture_source(SOURCES["audit"], [str(tmp_path / "audit.log")], tmp_path / "t.tape", settings)
    assert [warning["kind"] for warning in info["warnings"]] == kinds
