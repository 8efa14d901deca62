# SPDX-License-Identifier: Apache-2.0
"""Sources that DuckDB reads: ProxySQL's and audit logs' JSON, CSV of any making."""

import gzip
import json
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
