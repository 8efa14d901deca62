# SPDX-License-Identifier: Apache-2.0
"""Logs of the server_audit plugin: sessions, statements, cut statements, and Aurora's rows in any order."""

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
    """Read a log to its end."""
    path = tmp_path / "audit.log"
    path.write_text(text)
    assert detect_source(str(path), SOURCES.values()).name == "audit"
    return read_all(SOURCES["audit"].open([str(path)], Settings(extra=extra)))


def test_aurora_logs_cannot_be_mixed_with_others(tmp_path: Path) -> None:
    """Rows of Aurora's logs and of other servers' logs have no common order."""
    (tmp_path / "a").write_text(ROWS)
    (tmp_path / "b").write_text(AURORA)
    with pytest.raises(InputError, match="mixed"):
        capture_source(SOURCES["audit"], [str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "t.tape", Settings())


def test_cut_audit_statements_are_counted(tmp_path: Path) -> None:
    """A statement whose length equals the server's limit counts as cut."""
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
    """Read rows as UTC. Leave out the events of the first and last row, which are always valid."""
    path = tmp_path / "audit.log"
    path.write_bytes(b"\n".join([row(), *rows, row(connection="77")]) + b"\n")
    log = read_all(SOURCES["audit"].open([str(path)], Settings(timezone_ns=0, extra={"query_limit": limit})))
    assert [log.events[0]["thread_id"], log.events[-1]["thread_id"]] == [29, 77]
    del log.events[0], log.events[-1]
    return log


@pytest.mark.long
def test_each_field_of_a_time_is_checked(tmp_path: Path) -> None:
    """Each field of a time gets each value. A valid time is read. An impossible time is a problem."""
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
def test_time_with_a_wrong_character_is_invalid(place: int, wrong: str, tmp_path: Path) -> None:
    """Each character of a time is replaced or removed."""
    usual = "20261120 15:21:05"
    log = read_rows(tmp_path, [row(usual[:place] + wrong + usual[place + 1 :])])
    assert (len(log.events), log.kinds.count("not_understood")) == (0, 1)


def test_connection_id_is_a_64_bit_number(tmp_path: Path) -> None:
    good = ["0", "7", "4294967296", "922337203685477580", "9223372036854775799"]
    bad = ["", "x", "-1", "1x", " 1", "1:", "1/", "92233720368547758070", "99999999999999999999"]
    log = read_rows(tmp_path, [row(connection=each) for each in (*good, *bad)])
    assert [event["thread_id"] for event in log.events] == [int(each) for each in good]
    assert log.kinds.count("not_understood") == len(bad)


def test_audit_operations_are_classified(tmp_path: Path) -> None:
    """Sessions and statements become events. Table accesses are skipped. Other operations are problems."""
    events = {"QUERY": "query", "CONNECT": "connect", "FAILED_CONNECT": "connect", "DISCONNECT": "quit"}
    tables = ["READ", "WRITE", "CREATE", "ALTER", "RENAME", "DROP"]
    bad = ["", "QUER", "QUERYX", "query", "CONNECTED", "READS", "REA", "XDROP"]
    rows = [row(operation=each, connection=str(100 + n)) for n, each in enumerate([*events, *tables, *bad])]
    log = read_rows(tmp_path, [*rows, row(operation="CHANGEUSER", connection="100")])
    assert [event["command"] for event in log.events] == [*events.values(), "change_user"]
    assert log.kinds.count("not_understood") == len(bad)
    assert [event["statement"] for event in log.events] == [b"SELECT 1", *([None] * 4)]


def test_audit_row_ends_with_an_error_code(tmp_path: Path) -> None:
    """The connection type may follow the error code of a row. A row with an open quote or without a code is invalid."""
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


def test_audit_escapes_are_decoded(tmp_path: Path) -> None:
    """Each byte value follows a backslash once. A backslash at the end of a text is kept."""
    named = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"b": b"\b", b"Z": b"\x1a"}
    bytes_of = [bytes([n]) for n in range(256) if n not in b"\n\r"]
    rows = [row(behind=b"'SELECT 1 + \\" + each + b"2',0") for each in bytes_of]
    log = read_rows(tmp_path, rows)
    assert [event["statement"] for event in log.events] == [
        b"SELECT 1 + " + named.get(each, each) + b"2" for each in bytes_of
    ]


@pytest.mark.parametrize("length", [127, 128, 129])
def test_audit_text_at_the_length_limit_is_cut(length: int, tmp_path: Path) -> None:
    """Backslashes of escapes do not count for the length. A text above the limit is complete, because the given limit
    must be wrong.
    """
    text = b"SELECT \\'" + b"x" * (length - 8)
    log = read_rows(tmp_path, [row(behind=b"'" + text + b"',0")], limit=128)
    assert len(log.events[0]["statement"]) == length
    assert bool(log.events[0]["flags"] & 8) == (length == 128)


HOSTS = [  # host in the log, then host and port on the tape
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
def test_port_after_the_host_is_read(written: str, host: str, port: int | None, tmp_path: Path) -> None:
    """MariaDB 12 writes host:port. The last group of an IPv6 address counts as a port only if it is too long for an
    address group.
    """
    (tmp_path / "a.log").write_text(ROWS.replace(",web1,", f",{written},"))
    capture([tmp_path / "a.log"], tmp_path / "t.tape", "audit")
    tape = open_folder("tape", tmp_path / "t.tape")
    found = query(f"SELECT DISTINCT host FROM {tape.source('events')}")
    assert found == [(host,)]
    assert query(f"SELECT port FROM {tape.source('sessions')}") == [(port,)]


def test_short_port_after_an_ipv6_address_is_read(tmp_path: Path) -> None:
    """If one address in the log certainly has a port, the last group of every IPv6 address is a port."""
    other = ROWS.replace(",web1,", ",::1:7777,").replace(",29,", ",30,")
    (tmp_path / "a.log").write_text(ROWS.replace(",web1,", ",10.1.2.3:54312,") + other)
    capture([tmp_path / "a.log"], tmp_path / "t.tape", "audit")
    tape = open_folder("tape", tmp_path / "t.tape")
    assert query(f"SELECT host, port FROM {tape.source('sessions')} ORDER BY 1") == [("10.1.2.3", 54312), ("::1", 7777)]


def test_proxy_user_row_is_not_a_loss(tmp_path: Path) -> None:
    """MariaDB 12 writes a PROXY_CONNECT row for a proxy user."""
    log = read(tmp_path, ROWS + "20261120 15:21:08,db1,rep,10.1.2.9:5000,31,0,PROXY_CONNECT,shop,`app`@`%`,0\n")
    assert (len(log.events), log.problems, log.not_understood) == (4, [], 0)


AT_NS = 1_795_188_065 * 10**9  # 2026-11-20 15:21:05 UTC
TIMES = [  # text in the log (server_audit_timestamp_format or syslog), nanoseconds after AT_NS, resolution
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
def test_all_time_formats_are_read(time: str, behind_ns: int, unit_ns: int, tmp_path: Path) -> None:
    """The kind of the log is detected. The logged time is the end of the event. A fraction that is always zero does not
    increase the resolution.
    """
    path = tmp_path / "audit.log"
    path.write_bytes(row(time) + b"\n")
    assert detect_source(str(path), SOURCES.values()).name == "audit"
    log = read_all(SOURCES["audit"].open([str(path)], Settings()))
    assert [event["precision_ns"] for event in log.events] == [unit_ns]
    whole = unit_ns == 10**9
    assert [event["start_ns"] // (10**9 if whole else 1) for event in log.events] == [
        AT_NS // 10**9 if whole else AT_NS + behind_ns
    ]


def test_audit_rows_with_invalid_times_are_problems(tmp_path: Path) -> None:
    log = read_rows(tmp_path, [row(time) for time in NO_TIMES])
    assert (len(log.events), log.kinds.count("not_understood")) == (0, len(NO_TIMES))


def test_zone_in_the_log_overrides_the_option(tmp_path: Path) -> None:
    """--log-timezone applies only to times without a zone."""
    path = tmp_path / "audit.log"
    path.write_bytes(row("20261120 16:21:05.5") + b"\n" + row("20261120T15:21:05.6+0000") + b"\n")
    log = read_all(SOURCES["audit"].open([str(path)], Settings(timezone_ns=3600 * 10**9)))
    assert [event["start_ns"] - AT_NS for event in log.events] == [500_000_000, 600_000_000]


def test_ports_are_detected_for_each_file(tmp_path: Path) -> None:
    """One file has ports after its host names. The next file has none."""
    for name, host in (("a", "10.1.2.3:54312"), ("b", "2001:db8::7")):
        (tmp_path / name).write_text(f"20261120 15:21:05,db1,app,{host},{ord(name)},0,CONNECT,shop,,0\n")
    log = read_all(SOURCES["audit"].open([str(tmp_path / "a"), str(tmp_path / "b")], Settings()))
    assert [event["host"] for event in log.events] == ["10.1.2.3", "2001:db8::7"]


@pytest.mark.parametrize(("size", "kinds"), [(None, []), ("0", []), ("8192", ["buffered"])])
def test_buffered_audit_log_gives_a_warning(size: str | None, kinds: list[str], tmp_path: Path) -> None:
    """If the server buffers its audit log, the latest rows may be missing from the file."""
    (tmp_path / "audit.log").write_text(ROWS)
    variables = {} if size is None else {"server_audit_file_buffer_size": size}
    settings = Settings(server={"variables": variables})
    info = capture_source(SOURCES["audit"], [str(tmp_path / "audit.log")], tmp_path / "t.tape", settings)
    assert [warning["kind"] for warning in info["warnings"]] == kinds
