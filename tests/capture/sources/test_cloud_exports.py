# SPDX-License-Identifier: Apache-2.0
"""Log exports of Google Cloud SQL and Azure, in the format of their documentation."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture_source, detect_source
from querytape.common.errors import InputError
from querytape.schemas import FLAGS

from tests.helpers.rds import entries
from tests.helpers.reading import tape_of
from tests.helpers.tape_tools import found as found_on

COLUMNS = "thread_id, statement, start_ns, duration_ns, rows_sent, rows_examined, user, host"
RESOURCE = {"type": "cloudsql_database", "labels": {"database_id": "shop:db1", "project_id": "shop", "region": "eu"}}


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows, one object per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def log_entries(log: str, lines: list[str]) -> list[dict[str, Any]]:
    """Return log lines as entries of Cloud Logging, each with a time and an ascending id."""
    return [
        {
            "insertId": f"2#{n // 7:020d}#slow#{n:020x}",
            "logName": f"projects/shop/logs/cloudsql.googleapis.com%2F{log}",
            "receiveTimestamp": "2026-11-22T10:00:09.5Z",
            "resource": RESOURCE,
            "textPayload": line,
            "timestamp": f"2026-11-22T10:00:{n // 7 % 60:02d}.{n // 420:06d}Z",
        }
        for n, line in enumerate(lines)
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_cloud_sql_slow_log_export_is_read(tmp_path: Path, whole: bool) -> None:
    """Each exported row has a whole log entry or a single line. The rows are in any order. The tape equals the tape of
    the original log.
    """
    text = entries(0, 60, "SELECT '%d',\n'quote \" and \\n', 'é'")
    log = tmp_path / "slow.log"
    log.write_text(text)
    parts = [f"# Time{part}" for part in text.split("# Time")[1:]] if whole else text.splitlines()
    rows = log_entries("mysql-slow.log", parts)
    random.Random(1).shuffle(rows)
    path = written(tmp_path / "export.json", rows)
    assert detect_source(str(path), SOURCES.values()).name == "audit-json"
    found, info = tape_of("audit-json", path, tmp_path)
    (tmp_path / "own").mkdir()
    expected, _ = tape_of("slowlog", log, tmp_path / "own")
    assert len(found) == 60
    assert found == expected
    assert info["problems"] == {}


def test_cloud_sql_general_log_export_is_read(tmp_path: Path) -> None:
    """The rows are ordered newest first, as gcloud does by default."""
    lines = [f"2026-11-22T10:00:00.{n:06d}Z\t   42 Query\tSELECT {n}" for n in range(30)]
    path = written(tmp_path / "export.json", log_entries("mysql-general.log", lines)[::-1])
    found, _ = tape_of("audit-json", path, tmp_path)
    assert [row[1] for row in found] == [f"SELECT {n}".encode() for n in range(30)]


def test_cloud_sql_audit_log_export_is_read(tmp_path: Path) -> None:
    """The export has logins, statements and errors. A statement that is split into several chunks becomes one event,
    marked as cut.
    """

    def entry(at: int, **request: Any) -> dict[str, Any]:
        date = f"2026-11-22T10:00:00.{at:06d}Z"
        kind = "type.googleapis.com/google.cloud.sql.audit.v1.MysqlAuditEntry"
        about = {"@type": kind, "date": date, "ip": "10.0.0.5", "msgType": "activity", "threadId": "42", "user": "app"}
        audit = {"@type": "type.googleapis.com/google.cloud.audit.AuditLog", "request": {**about, **request}}
        name = "projects/shop/logs/cloudaudit.googleapis.com%2Fdata_access"
        return {"insertId": str(at), "logName": name, "protoPayload": audit, "resource": RESOURCE, "timestamp": date}

    cards = [{"db": "shop", "name": "cards", "objType": "TABLE"}]
    rows = [
        entry(0, cmd="connect", errCode="0", status="success"),
        entry(1, cmd="select", errCode="0", query="SELECT 1 FROM cards", objects=cards),
        entry(2, cmd="update", errCode="1146", query="UPDATE nothing SET a = 1"),
        entry(3, cmd="insert", query="INSERT INTO t VALUES ('aaa", chunkCount="2", chunkIndex="1"),
        entry(4, cmd="insert", query="bbb')", chunkCount="2", chunkIndex="2"),
        entry(5, cmd="disconnect"),
    ]
    found, _ = tape_of("audit-json", written(tmp_path / "a.json", rows), tmp_path)
    assert [row[:2] for row in found] == [
        ("connect", None),
        ("query", b"SELECT 1 FROM cards"),
        ("query", b"UPDATE nothing SET a = 1"),
        ("query", b"INSERT INTO t VALUES ('aaa"),
        ("quit", None),
    ]
    assert {row[2] for row in found} == {42}
    assert flags(tmp_path) == [0, 0, 0, FLAGS["truncated"], 0]
    assert values(tmp_path, "db, errno, host")[1:3] == [("shop", 0, "10.0.0.5"), (None, 1146, "10.0.0.5")]


def test_azure_slow_log_export_is_read(tmp_path: Path) -> None:
    """Times, account and row counts are read. Statements that Azure cut are marked."""
    about = {"LogicalServerName": "db1", "category": "MySqlSlowLogs", "operationName": "LogEvent"}

    def row(at: int, **more: Any) -> dict[str, Any]:
        start = f"2026-11-22T10:00:00.{at:06d}Z"
        shown = {"event_class": "slow_log", "start_time": start, "query_time": "00:00:00.250000", "lock_time": "0.001"}
        account = {"user_host": "app[app] @  [10.0.0.5]", "thread_id": 42, "db": "shop", "server_id": 1}
        counts = {"rows_sent": 3, "rows_examined": 40, "last_insert_id": 0, "insert_id": 0}
        return {**about, "time": "2026-11-22T10:00:07Z", "properties": {**shown, **account, **counts, **more}}

    path = written(tmp_path / "a.json", [row(900_000, sql_text="S" * 2048), row(1, sql_text="SELECT 'a\nb'")])
    found, _ = tape_of("audit-json", path, tmp_path)
    assert values(tmp_path, "statement, start_ns % 1000000000, duration_ns, lock_ns, rows_sent, rows_examined")[0] == (
        b"SELECT 'a\nb'",
        1000,
        250_000_000,
        1_000_000,
        3,
        40,
    )
    assert values(tmp_path, "user, host, db, thread_id")[0] == ("app", "10.0.0.5", "shop", 42)
    assert flags(tmp_path) == [0, FLAGS["truncated"]]
    assert len(found) == 2


def test_unreadable_values_of_an_azure_slow_log_are_problems(tmp_path: Path) -> None:
    """Each problem names its column. If one time is unreadable, the other time of the row is used. Durations of 24
    hours and more are readable.
    """
    more = {"sql_text": "SELECT 1", "user_host": "app[app] @ web1 []", "rows_sent": "many", "thread_id": "7x"}
    times = {"start_time": "soon", "query_time": "26:00:00.5", "lock_time": "short"}
    row = {"category": "MySqlSlowLogs", "time": "2026-11-22T10:00:07+02:00", "properties": {**times, **more}}
    _, info = tape_of("audit-json", written(tmp_path / "a.json", [row]), tmp_path)
    assert info["problems"] == {f"unread_{name}": 1 for name in ("lock", "rows_sent", "thread_id", "time")}
    assert values(tmp_path, "start_ns, duration_ns, lock_ns, rows_sent, thread_id") == [
        (1795334407000000000, 93_600_500_000_000, None, None, None)
    ]


def test_azure_audit_log_export_is_read(tmp_path: Path) -> None:
    """Rows about connections and statements become events. Rows about errors and table accesses do not repeat a
    statement.
    """
    about = {"LogicalServerName": "db1", "category": "MySqlAuditLogs", "time": "2026-11-22T10:00:07Z"}
    general = {"event_class": "general_log", "thread_id": 42, "ip": "10.0.0.5", "user": "app", "host": ""}
    connection = {"event_class": "connection_log", "connection_id": 42, "ip": "10.0.0.5", "user": "app", "db": "shop"}
    shown = [
        {**connection, "event_subclass": "CONNECT"},
        {**general, "event_subclass": "LOG", "sql_text": "SELECT 1 FROM nothing", "error_code": 0},
        {**general, "event_subclass": "ERROR", "sql_text": "SELECT 1 FROM nothing", "error_code": 1146},
        {"event_class": "table_access_log", "event_subclass": "READ", "table": "t", "connection_id": 42},
        {**connection, "event_subclass": "DISCONNECT"},
    ]
    rows = [{**about, "properties": {"event_time": f"2026-11-22T10:00:0{n}Z", **row}} for n, row in enumerate(shown)]
    found, _ = tape_of("audit-json", written(tmp_path / "a.json", rows), tmp_path)
    assert [row[:3] for row in found] == [
        ("connect", None, 42),
        ("query", b"SELECT 1 FROM nothing", 42),
        ("quit", None, 42),
    ]


def test_unknown_preset_is_refused_with_the_valid_names(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", [{"a": 1}])
    with pytest.raises(InputError, match=r"--preset: expected one of cloudsql-audit, .* found 'gcp'"):
        capture_source(SOURCES["audit-json"], [str(path)], tmp_path / "t", Settings(extra={"preset": "gcp"}))


def values(tmp_path: Path, columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the tape's events, in order."""
    tape = next(tmp_path.rglob("tape.json")).parent
    return found_on(tape, f"SELECT {columns} FROM events ORDER BY start_ns, seq")


def flags(tmp_path: Path) -> list[int]:
    """Return the cut-statement flag of each event."""
    return [row[0] & FLAGS["truncated"] for row in values(tmp_path, "flags")]
