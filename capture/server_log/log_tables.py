# SPDX-License-Identifier: Apache-2.0
"""Write the tables mysql.slow_log and mysql.general_log in the format of the server's log files.

The parsers then read the result like any other log. A row has the same fields as a log entry. Its time has
microseconds.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any, BinaryIO

from pymysql.connections import Connection
from pymysql.cursors import SSCursor

SLOW_COLUMNS = (
    "start_time, user_host, query_time, lock_time, rows_sent, rows_examined, db, last_insert_id, insert_id,"
    " thread_id, sql_text"
)
GENERAL_COLUMNS = "event_time, thread_id, command_type, argument, user_host"
TABLES = {"table": "slow_log", "general": "general_log"}
ADMIN_COMMANDS = frozenset(
    (
        *(b"Quit", b"Init DB", b"Ping", b"Prepare", b"Execute", b"Close stmt", b"Reset stmt", b"Long Data", b"Fetch"),
        *(b"Change user", b"Statistics", b"Refresh", b"Field List", b"Reset Connection", b"Binlog Dump"),
        *(b"Set option", b"Processlist", b"Debug", b"Register Slave", b"Kill", b"Connect", b"Shutdown"),
    )
)


def rows_of(con: "Connection[Any]", method: str) -> int:
    """Return the current number of rows in the log table."""
    with con.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM mysql.{TABLES[method]}")
        return int(cursor.fetchall()[0][0])


def table_bytes(con: "Connection[Any]", method: str) -> int:
    """Return the size of the log table in bytes, or 0 if the server does not report it."""
    with con.cursor() as cursor:
        cursor.execute(
            "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = %s",
            (TABLES[method],),
        )
        row = cursor.fetchone()
    return int(row[0] or 0) if row else 0


def write_rows(con: "Connection[Any]", method: str, skip: int, out: BinaryIO) -> int:
    """Write the rows after the first `skip` rows in log format, and return the number of written rows.

    Reads the rows as a stream and closes `con`.
    """
    entries = slow_entries if method == "table" else general_entries
    count = 0
    with closing(con):
        with con.cursor() as cursor:
            cursor.execute("SET SESSION time_zone = '+00:00'")
        with con.cursor(SSCursor) as rows:
            columns = SLOW_COLUMNS if method == "table" else GENERAL_COLUMNS
            rows.execute(f"SELECT {columns} FROM mysql.{TABLES[method]} LIMIT {skip}, 18446744073709551615")
            for entry in entries(rows.fetchall_unbuffered()):
                out.write(entry)
                count += 1
    return count


def slow_entries(rows: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """Return each row as an entry of a slow log file."""
    for at, user_host, query, lock, sent, examined, db, last_id, insert_id, thread, text in rows:
        body = as_bytes(text)
        ids = "".join(
            f"{name}={value}," for name, value in (("last_insert_id", last_id), ("insert_id", insert_id)) if value
        )
        head = (
            f"# Time: {utc_text(at)}\n# User@Host: {as_text(user_host)}\n"
            f"# Thread_id: {thread}  Schema: {as_text(db)}  QC_hit: No\n"
            f"# Query_time: {seconds(query):.6f}  Lock_time: {seconds(lock):.6f}"
            f"  Rows_sent: {sent}  Rows_examined: {examined}\n"
            f"SET {ids}timestamp={int(epoch(at) - seconds(query))};\n"
        )
        is_command = body in ADMIN_COMMANDS
        yield (
            head.encode("utf-8", "surrogateescape")
            + (b"# administrator command: " if is_command else b"")
            + body
            + b";\n"
        )


def general_entries(rows: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """Return each row as a line of a general log file."""
    for at, thread, command, argument, _ in rows:
        yield f"{utc_text(at)}\t{thread:5d} {command}\t".encode() + as_bytes(argument) + b"\n"


def as_bytes(value: Any) -> bytes:
    """Return a text column as its original bytes."""
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode("utf-8", "surrogateescape")


def as_text(value: Any) -> str:
    """Return a text column as text that encodes to the original bytes."""
    return as_bytes(value).decode("utf-8", "surrogateescape")


def utc_text(at: datetime) -> str:
    """Return a time in UTC in the format of MySQL's logs."""
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"


def epoch(at: datetime) -> float:
    """Return a UTC time in seconds since 1970."""
    return (at - datetime(1970, 1, 1)).total_seconds()


def seconds(value: timedelta | None) -> float:
    """Return a TIME column in seconds."""
    return value.total_seconds() if value is not None else 0.0
