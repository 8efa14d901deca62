# SPDX-License-Identifier: Apache-2.0
"""Sources that DuckDB reads: ProxySQL's and audit logs' JSON, CSV of any making."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.capture import SOURCES, Settings, capture, guess
from querytape.errors import InputError

FILTER: list[dict[str, Any]] = [
    {
        "class": "connection",
        "event": "connect",
        "account": {"user": "app", "host": "web1"},
        "connection_data": {"status": 0, "db": "shop"},
    },
    {
        "class": "general",
        "event": "status",
        "account": {"user": "app", "host": "web1"},
        "general_data": {
            "command": "Query",
            "query": "SELECT 'a\nb'",
            "status": 1146,
            "query_statistics": {"query_time": 0.25, "rows_sent": 7},
        },
    },
    {"class": "table_access", "event": "read"},
    {"class": "connection", "event": "disconnect", "connection_data": {"status": 0}},
]


def tape_of(kind: str, path: Path, tmp_path: Path, **extra: Any) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Return (command, statement, thread, start, duration, user, host, db, errno, rows) of a file, and the tape's JSON."""
    out = tmp_path / f"{path.name}.tape"
    info = capture(SOURCES[kind], [str(path)], out, Settings(extra=extra))
    with duckdb.connect() as con:
        found = con.execute(
            'SELECT command, statement, thread_id, start_ns, duration_ns, "user", host, db, errno, rows_sent'
            f" FROM '{out}/events/*.parquet' ORDER BY session, seq"
        ).fetchall()
    return found, info


def test_filters_json_in_an_array(tmp_path: Path) -> None:
    """An array that is open while the server writes, a line that is none, rows that are no commands."""
    rows = [
        {"timestamp": f"2024-06-10 06:13:2{n}", "id": n, "connection_id": 13, **row} for n, row in enumerate(FILTER)
    ]
    path = tmp_path / "audit.json"
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + ",\nnot json at all\n")
    assert guess(str(path), SOURCES.values()).name == "audit-json"
    found, info = tape_of("audit-json", path, tmp_path)
    assert [row[:3] for row in found] == [("connect", None, 13), ("query", b"SELECT 'a\nb'", 13), ("quit", None, 13)]
    assert found[1][4:] == (250_000_000, "app", "web1", None, 1146, 7)
    assert info["problems"] == {"not_understood": 1}


def test_proxysql_packed_and_redacted(tmp_path: Path) -> None:
    """Microseconds of start and duration, the client's host, passwords taken out; sessions by ProxySQL's thread id."""
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
    assert guess(str(path), SOURCES.values()).name == "proxysql"
    found, info = tape_of("proxysql", path, tmp_path)
    assert found[0][1:8] == (b"SELECT 1", 7, 1718000000000001000, 1534000, "app", "10.0.0.5", "shop")
    assert b"secret" not in found[1][1]
    assert info["measuring_point"] == "proxy"


def number(n: int) -> bytes:
    """Return a length-encoded number."""
    if n < 251:
        return bytes([n])
    return b"\xfc" + struct.pack("<H", n) if n < 65536 else b"\xfe" + struct.pack("<Q", n)


def string(text: bytes) -> bytes:
    """Return a length-encoded string."""
    return number(len(text)) + text


def record(event: int, thread: int, start_us: int, query: bytes, counts: int = 3, params: bytes = b"") -> bytes:
    """Return a record of ProxySQL's binary events log; `counts`: how many numbers of rows that release writes."""
    body = bytes([event]) + number(thread) + string(b"app") + string(b"shop") + string(b"10.0.0.5:51000")
    body += number(2**64 - 1) if thread == 9 else number(3) + string(b"10.0.0.1:3306")
    body += number(start_us) + number(start_us + 1500) + (number(7) if event else b"")
    body += (
        b"".join(number(n) for n in (5, 42, 300)[3 - counts :]) + number(0x1234567890ABCDEF) + string(query) + params
    )
    return struct.pack("<Q", len(body) + (event == 0)) + body


@pytest.mark.parametrize("counts", [3, 2, 0])
def test_proxysql_binary(tmp_path: Path, counts: int) -> None:
    """Each release's layout is found by its lengths; what is no record is a problem and the next one is found."""
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
    assert guess(str(path), SOURCES.values()).name == "proxysql"
    found, info = tape_of("proxysql", path, tmp_path)
    assert found[0][1:8] == (b"SELECT 'caf\xe9'", 7, at * 1000, 1_500_000, "app", "10.0.0.5", "shop")
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT thread_id, command, rows_affected, rows_sent, octet_length(statement)"
            f" FROM '{tmp_path}/queries.log.tape/events/*.parquet' ORDER BY start_ns"
        ).fetchall()
    assert [row[:4] for row in rows] == [
        (7, "query", *numbers), (9, "query", *numbers), (7, "prepare", *numbers), (7, "execute", *numbers),
        (300, "query", *numbers),
    ]  # fmt: skip
    assert rows[1][4] == 70_008
    assert b"secret" not in found[4][1]
    assert info["problems"] == {"not_understood": 2}


def test_csv_with_a_mapping(tmp_path: Path) -> None:
    """Columns by name, times in milliseconds or as texts, a row without a time as a problem."""
    path = tmp_path / "sql.csv"
    path.write_text(
        'ts,conn,sql_text,latency,who\n1718000000500,5,"SELECT ""x"", 1",1500,app\nnever,5,SELECT 2,1,app\n'
        "1718000000400,5,SELECT 0,10,app\n"
    )
    columns = ["time=ts", "thread_id=conn", "statement=sql_text", "duration=latency", "user=who"]
    units = {"time_unit": "ms", "duration_unit": "us"}
    found, info = tape_of("csv", path, tmp_path, column=columns, **units)
    assert [row[1:5] for row in found] == [
        (b"SELECT 0", 5, 1718000000400000000, 10_000),
        (b'SELECT "x", 1', 5, 1718000000500000000, 1_500_000),
    ]
    assert info["problems"] == {"not_understood": 1}
    text = tmp_path / "text.csv"
    text.write_text("ts,q\n10/06/2024 06:13:20,SELECT 1\n")
    found, _ = tape_of("csv", text, tmp_path, column=["time=ts", "statement=q"], time_format="%d/%m/%Y %H:%M:%S")
    assert found[0][3] == 1718000000000000000


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["time=ts"], "statement must be given"),
        (["time=ts", "statement=nope"], "no column 'nope'; it has ts, q"),
        (["wrong=ts"], "FIELD one of time, duration"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(tmp_path: Path, columns: list[str], said: str) -> None:
    """With the names that there are."""
    path = tmp_path / "a.csv"
    path.write_text("ts,q\n1,SELECT 1\n")
    with pytest.raises(InputError, match=said):
        tape_of("csv", path, tmp_path, column=columns)
    assert not (tmp_path / "a.csv.tape").exists()
