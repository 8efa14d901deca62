# SPDX-License-Identifier: Apache-2.0
"""ProxySQL's event logs in JSON and binary format."""

import gzip
import json
import struct
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source, detect_source
from querytape.common.errors import InputError
from querytape.native.bindings.parsers import open_proxysql
from querytape.schemas import FLAGS

from tests.helpers.duck import query
from tests.helpers.log_writers import number_bytes, string_bytes
from tests.helpers.reading import read_all, tape_of


def test_compressed_proxysql_log_is_redacted(tmp_path: Path) -> None:
    """Start and duration are in microseconds. The host is the client's host. Passwords are removed. ProxySQL's thread
    id identifies the session.
    """
    row = {
        "hostgroup_id": 1,
        "thread_id": 7,
        "event": "COM_QUERY",
        "username": "app",
        "schemaname": "shop",
        "client": "10.0.0.5:51000",
        "query": "CREATE USER x IDENTIFIED BY 'secret'",
        "starttime_timestamp_us": 1718000000123456,
        "duration_us": 1534,
        "rows_sent": 0,
    }
    later = {**row, "query": "SELECT 1", "starttime_timestamp_us": 1718000000000001}
    path = tmp_path / "queries.log.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(row)}\n{json.dumps(later)}\n".encode()))
    assert detect_source(str(path), SOURCES.values()).name == "proxysql"
    found, info = tape_of("proxysql", path, tmp_path)
    assert found[0][1:8] == (b"SELECT 1", 7, 1718000000000001000, 1534000, "app", "10.0.0.5", "shop")
    assert b"secret" not in found[1][1]
    assert info["measuring_point"] == "proxy"


def record(event: int, thread: int, start_us: int, query: bytes, counts: int = 3, params: bytes = b"") -> bytes:
    """Return a record of ProxySQL's binary event log. `counts` is the number of row counters in a record, which depends
    on the release.
    """
    body = (
        bytes([event])
        + number_bytes(thread)
        + string_bytes(b"app")
        + string_bytes(b"shop")
        + string_bytes(b"10.0.0.5:51000")
    )
    body += number_bytes(2**64 - 1) if thread == 9 else number_bytes(3) + string_bytes(b"10.0.0.1:3306")
    body += number_bytes(start_us) + number_bytes(start_us + 1500) + (number_bytes(7) if event else b"")
    body += (
        b"".join(number_bytes(n) for n in (5, 42, 300)[3 - counts :])
        + number_bytes(0x1234567890ABCDEF)
        + string_bytes(query)
        + params
    )
    return struct.pack("<Q", len(body) + (event == 0)) + body


@pytest.mark.parametrize("counts", [3, 2, 0])
def test_proxysql_binary_log_is_read(tmp_path: Path, counts: int) -> None:
    """The reader finds the layout of a ProxySQL release from the record lengths. An invalid record is a problem, and
    the reader continues with the next record.
    """
    at = 1718000000000000
    numbers = {3: (5, 300), 2: (42, 300), 0: (None, None)}[counts]
    records = [
        record(0, 7, at, b"SELECT 'caf\xe9'", counts),
        record(0, 9, at + 10, b"SELECT 2" + b"x" * 70_000, counts),
        b"\0\xffgarbage" * 20,
        record(17, 7, at + 20, b"SELECT ?", counts),
        record(16, 7, at + 30, b"SELECT ?", counts, params=b"\1\2\3" if counts == 3 else b""),
        record(0, 300, at + 40, b"CREATE USER x IDENTIFIED BY 'secret'", counts),
        record(0, 7, at + 50, b"cut")[:-2],
    ]
    path = tmp_path / "queries.log"
    path.write_bytes(b"".join(records))
    assert detect_source(str(path), SOURCES.values()).name == "proxysql"
    found, info = tape_of("proxysql", path, tmp_path)
    assert found[0][1:8] == (b"SELECT 'caf\xe9'", 7, at * 1000, 1_500_000, "app", "10.0.0.5", "shop")
    rows = query(
        f"SELECT thread_id, command, rows_affected, rows_sent, octet_length(statement)"
        f" FROM '{tmp_path}/queries.log.tape/events/*.parquet' ORDER BY start_ns"
    )
    assert [row[:4] for row in rows] == [
        (7, "query", *numbers), (9, "query", *numbers), (7, "prepare", *numbers), (7, "execute", *numbers),
        (300, "query", *numbers),
    ]  # fmt: skip
    assert rows[1][4] == 70_008
    assert b"secret" not in found[4][1]
    assert info["problems"] == {"not_understood": 2}


def values(*given: tuple[int, bytes | None]) -> bytes:
    """Return the parameters of an execution, as ProxySQL 2.7.3 and later write them. Each value is (type, text), with
    None for NULL.
    """
    bits = sum(1 << n for n, (_, text) in enumerate(given) if text is None)
    bitmap = bits.to_bytes((len(given) + 7) // 8, "little")
    return (
        number_bytes(len(given))
        + bitmap
        + b"".join(struct.pack("<H", t) + string_bytes(text or b"") for t, text in given)
    )


def clock(year: int, month: int, day: int, hour: int, minute: int, second: int, micro: int) -> bytes:
    """Return a MYSQL_TIME of the client library as hex digits."""
    raw = struct.pack("<6IQB7x", year, month, day, hour, minute, second, micro, 0)
    return b"0x" + raw.hex().encode()


def test_values_of_executions_are_read(tmp_path: Path) -> None:
    """The tape has each bound value as the client sent it. ProxySQL's record about the log is not an event."""
    at = 1718000000000000
    given = values(
        (8, b"-7"), (253, b"0x" + b"it's".hex().encode()), (12, clock(2026, 11, 22, 10, 0, 1, 5)), (5, b"0.500000"), (3, None),
        (246, b"1.50"), (1, b"-1"), (10, clock(2026, 1, 2, 0, 0, 0, 0)), (254, b"0x"),
    )  # fmt: skip
    head = (
        bytes([18])
        + number_bytes(0)
        + string_bytes(b'{"version":"3.0.2"}')
        + string_bytes(b"")
        + string_bytes(b"")
        + number_bytes(2**64 - 1)
    )
    head += bytes(6) + string_bytes(b"")
    path = tmp_path / "queries.log"
    path.write_bytes(
        struct.pack("<Q", len(head) + 1) + head
        + record(17, 7, at, b"INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?)")
        + record(16, 7, at + 10, b"INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?)", params=given)
        + record(16, 7, at + 20, b"INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?)", params=number_bytes(0))
        + record(16, 7, at + 30, b"INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?)", params=values((77, b"unknown")))
        + record(16, 7, at + 40, b"COMMIT", params=number_bytes(0))
    )  # fmt: skip
    assert detect_source(str(path), SOURCES.values()).name == "proxysql"
    _, info = tape_of("proxysql", path, tmp_path)
    assert info["problems"] == {}
    rows = query(
        f"SELECT command, stmt, params, flags & {FLAGS['placeholder']} != 0"
        f" FROM '{tmp_path}/queries.log.tape/events/*.parquet' ORDER BY start_ns"
    )
    types = struct.pack("<9H", 8, 253, 12, 5, 3, 246, 1, 10, 254)
    expected = (
        b"E" + bytes([9, 0, 1, 0, 0, 0, 16, 0, 1]) + types + struct.pack("<q", -7) + b"\4it's"
        + b"\x0b" + struct.pack("<HBBBBBI", 2026, 11, 22, 10, 0, 1, 5) + struct.pack("<d", 0.5) + b"\0041.50"
        + b"\xff" + b"\4" + struct.pack("<HBB", 2026, 1, 2) + b"\0"
    )  # fmt: skip
    assert rows[0][:2] == ("prepare", 7)
    assert rows[1][:3] == ("execute", 7, expected)
    assert rows[1][3] is False
    assert [(row[0], row[1], row[2], row[3]) for row in rows[2:4]] == [("execute", None, None, True)] * 2
    assert rows[4] == ("execute", None, None, False)


def test_damaged_values_lose_no_statement(tmp_path: Path) -> None:
    """If the bound values are cut at any byte, they are dropped. If any byte is replaced, the statement is still kept."""
    at = 1718000000000000
    given = values((8, b"-7"), (253, b"0x" + b"it's".hex().encode()), (12, clock(2026, 11, 22, 10, 0, 1, 5)), (3, None))
    cut = [given[:end] for end in range(len(given) + 1)]
    changed = [
        given[:n] + bytes([byte]) + given[n + 1 :] for n in range(len(given)) for byte in (0, 1, 251, 252, 254, 255)
    ]
    found = []
    for name, blocks in (("cut", cut), ("changed", changed)):
        path = tmp_path / name
        path.write_bytes(b"".join(record(16, 7, at + n, b"SELECT ?", params=block) for n, block in enumerate(blocks)))
        tape_of("proxysql", path, tmp_path)
        events = f"FROM '{path}.tape/events/*.parquet' SELECT params ORDER BY start_ns"
        found.append([params for (params,) in query(events)])
    assert found[0][:-1] == [None] * len(given)
    assert found[0][-1] is not None
    assert len(found[1]) == len(changed)


def test_invalid_hex_digits_make_a_value_unknown(tmp_path: Path) -> None:
    """ProxySQL writes a text value as `0x` and pairs of lower-case hexadecimal digits."""
    at = 1718000000000000
    good = {b"0x": b"", b"0x00": b"\0", b"0xaf09": b"\xaf\x09"}
    texts = [
        *good,
        b"",
        b"0",
        b"x",
        b"0x1",
        b"0x123",
        b"1x11",
        b"0y11",
        b"0x1g",
        b"0xg1",
        b"0x/1",
        b"0x1:",
        b"0x`1",
        b"0xAF",
    ]
    path = tmp_path / "log"
    behind = ord("1")  # the next record's length follows, and its first byte may be a hex digit
    path.write_bytes(
        b"".join(
            next(
                one
                for blanks in range(256)
                if (one := record(16, 7, at + n, b"SELECT ?" + b" " * blanks, params=values((253, text))))[0] == behind
            )
            for n, text in enumerate(texts)
        )
    )
    tape_of("proxysql", path, tmp_path)
    events = f"FROM '{path}.tape/events/*.parquet' SELECT params WHERE command = 'execute' ORDER BY start_ns"
    found = [params for (params,) in query(events)]
    assert len(found) == len(texts)
    assert [params is not None for params in found] == [text in good for text in texts]
    assert [params[-len(raw) :] for params, raw in zip(found, good.values(), strict=False) if raw] == [
        b"\0",
        b"\xaf\x09",
    ]


def test_log_formats_cannot_be_mixed(tmp_path: Path) -> None:
    """A JSON log and a binary log cannot be captured together into one tape."""
    (tmp_path / "a").write_bytes(record(0, 7, 1718000000000000, b"SELECT 1"))
    (tmp_path / "b").write_text('{"hostgroup_id":1,"starttime_timestamp_us":1,"query":"SELECT 1"}\n')
    with pytest.raises(InputError, match="mixed"):
        capture_source(SOURCES["proxysql"], [str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "t.tape", Settings())


def json_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write events in ProxySQL's JSON format."""
    at = 1718000000000000
    head = {"hostgroup_id": 1, "thread_id": 7, "username": "app", "schemaname": "shop", "client": "10.0.0.5:51000"}
    path.write_text(
        "".join(
            json.dumps({**head, "event": "COM_QUERY", "starttime_timestamp_us": at + 2000 * n, "duration_us": 1, **row})
            + "\n"
            for n, row in enumerate(rows)
        )
    )
    return path


@pytest.mark.slow
def test_json_and_binary_logs_give_equal_values(tmp_path: Path) -> None:
    """Both log formats give the same executions and the same params. If ProxySQL masked a value in JSON, the execution
    has no params.
    """
    insert = b"INSERT INTO t VALUES (?,?,?,?,?,?,?)"
    long = "x" * 70_000
    given = [
        ("LONGLONG", 8, "-7"), ("VAR_STRING", 253, "0x" + b"it's".hex()), ("DATETIME", 12, clock(2026, 11, 22, 10, 0, 1, 5).decode()),
        ("DOUBLE", 5, "0.500000"), ("NULL", 3, None), ("NEWDECIMAL", 246, "1.50"), ("VARCHAR", 15, "é" + long),
    ]  # fmt: skip
    shown = [{"type": name, "value": value} for name, _, value in given]
    execute = {"event": "COM_STMT_EXECUTE", "query": insert.decode(), "client_stmt_id": 3}
    wrong = [{"type": "VARCHAR", "value": "caf\ufffd"}] * 7
    path = json_lines(
        tmp_path / "j.log",
        [
            {"event": "COM_STMT_PREPARE", "query": insert.decode(), "client_stmt_id": 3},
            {**execute, "parameters": shown},
            {**execute, "parameters": wrong},
            {**execute, "parameters": [{"type": "unknown", "value": None}] * 7},
            execute,
        ],
    )
    binary = tmp_path / "b.log"
    packed = values(*((code, None if value is None else value.encode()) for _, code, value in given))
    at = 1718000000000000
    binary.write_bytes(record(17, 3, at, insert) + record(16, 3, at + 10, insert, params=packed))
    assert tape_of("proxysql", path, tmp_path)[1]["problems"] == {}
    tape_of("proxysql", binary, tmp_path)
    columns = f"command, params, flags & {FLAGS['placeholder']} != 0, stmt IS NULL"
    read = {
        name: query(f"SELECT {columns} FROM '{tmp_path}/{name}.tape/events/*.parquet' ORDER BY start_ns")
        for name in ("j.log", "b.log")
    }
    mask = types_of(read["b.log"][1][1], 4)
    assert types_of(read["j.log"][1][1], 4) == mask  # the JSON format lacks the type of a NULL
    assert read["j.log"][1][2:] == (False, False)
    assert read["j.log"][0][2:] == (True, False)
    assert [row[1:] for row in read["j.log"][2:]] == [(None, True, True)] * 3


def types_of(params: bytes, null: int) -> bytes:
    """Return params without the type of one value."""
    begin = 1 + 1 + 1 + 4 + 1 + 1 + 2 * null
    return params[:begin] + b"??" + params[begin + 2 :]


def test_tape_of_a_sampled_log_is_refused_by_replay(tmp_path: Path) -> None:
    """The sampling rate comes from --sampled N or from a variable of the admin port. A rate of 1 means that every event
    is logged.
    """
    path = json_lines(tmp_path / "a.log", [{"query": "SELECT 1"}])
    _, info = tape_of("proxysql", path, tmp_path, sampled=10)
    assert info["warnings"] == [
        {
            "kind": "query_sampled",
            "text": "ProxySQL logged only 1 of 10 events (mysql-eventslog_rate_limit). Sessions lack events",
        }
    ]
    assert (
        capture_source(SOURCES["proxysql"], [str(path)], tmp_path / "b", Settings(extra={"sampled": 1}))["warnings"]
        == []
    )
    with pytest.raises(InputError, match="--sampled: expected 1 or more"):
        capture_source(SOURCES["proxysql"], [str(path)], tmp_path / "c", Settings(extra={"sampled": 0}))


@pytest.mark.parametrize("behind", [b"", b"\7", b"\0\0\0\0"])
def test_value_block_with_extra_bytes_gives_no_values(behind: bytes, tmp_path: Path) -> None:
    at = 1718000000000000
    given = values((8, b"42"), (253, b"0x" + b"text".hex().encode()), (3, None))
    path = tmp_path / "events.bin"
    path.write_bytes(record(16, 300, at, b"SELECT ?, ?, ?", 3, given + behind) + record(0, 7, at + 9000, b"SELECT 1"))
    found = read_all(open_proxysql([str(path)]))
    assert [event["statement"] for event in found.events] == [b"SELECT ?, ?, ?", b"SELECT 1"]
    assert (found.events[0]["params"] is None) is bool(behind)
    assert bool(found.events[0]["flags"] & FLAGS["placeholder"]) is bool(behind)
