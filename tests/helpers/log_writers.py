# SPDX-License-Identifier: Apache-2.0
"""Write logs of each kind from given statements, and deliver bytes in pieces like a pipe."""

import json
import os
import random
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from querytape.native.bindings.parsers import (
    open_binlog,
    open_general,
    open_proxysql,
    open_server_audit,
    open_slowlog,
)
from querytape.native.bindings.reader import Reader

FIRST_S = 1_718_000_000  # 2024-06-10 06:13:20 UTC
WORDS = [
    b"alpha",
    b"it''s",
    b"a\\'b",
    b"tab\there",
    b"semi;",
    b"line;\nnext",
    b"-- no",
    b"# no",
    b"x" * 61,
    b"\xc3\xa9",
]


def make_statements(sizes: Sequence[int], seed: int) -> list[bytes]:
    """Return statements of exactly these sizes, at least 40 bytes each. The texts differ in every position."""
    chance = random.Random(seed)
    return [make_statement(size, number, chance) for number, size in enumerate(sizes)]


def make_statement(size: int, number: int, chance: random.Random) -> bytes:
    """Return one INSERT of `size` bytes with numbered words. Some words contain quotes, semicolons and newlines."""
    head, tail = b"INSERT INTO t%d VALUES ('" % (number % 7), b"')"
    block = b" ".join(b"%d %s" % (chance.randrange(10**6), chance.choice(WORDS)) for _ in range(min(500, size)))
    room = size - len(head) - len(tail)
    text = (block * (room // len(block) + 1))[:room].rstrip(b"\\' ;\n") if room > 0 else b""
    if text.endswith(b"\xc3"):
        text = text[:-1]
    return head + text + b"z" * (room - len(text)) + tail


def utc(at: int) -> bytes:
    """Return the ISO time of day, `at` seconds after FIRST_S, on 2024-06-10."""
    second = 6 * 3600 + 13 * 60 + 20 + at
    return b"%02d:%02d:%02d" % (second // 3600, second // 60 % 60, second % 60)


def slow_log(statements: Sequence[bytes]) -> bytes:
    """Return a slow log of MySQL 8."""
    return b"".join(
        b"# Time: 2024-06-10T%s.000100Z\n# User@Host: app[app] @ localhost []  Id: %5d\n"
        b"# Query_time: 0.000010  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0\nSET timestamp=%d;\n%s;\n"
        % (utc(at), at % 3 + 7, FIRST_S + at, text)
        for at, text in enumerate(statements)
    )


def general_log(statements: Sequence[bytes]) -> bytes:
    """Return a general log of MySQL 8."""
    return b"".join(
        b"2024-06-10T%s.000100Z\t%5d Query\t%s\n" % (utc(at), at % 3 + 7, text) for at, text in enumerate(statements)
    )


def audit_log(statements: Sequence[bytes]) -> bytes:
    """Return a log of MariaDB's server_audit plugin."""
    return b"".join(
        b"20240610 %s,db1,app,localhost,%d,%d,QUERY,shop,'%s',0\n"
        % (
            utc(at),
            at % 3 + 7,
            at,
            text.replace(b"\\", b"\\\\").replace(b"'", b"\\'").replace(b"\n", b"\\n").replace(b"\t", b"\\t"),
        )
        for at, text in enumerate(statements)
    )


def binary_log(statements: Sequence[bytes]) -> bytes:
    """Return the output of mysqlbinlog."""
    head = b"DELIMITER /*!*/;\n"
    return head + b"".join(
        b"# at %d\n#240610 %s server id 1  end_log_pos %d CRC32 0xf07ae052 \tQuery\tthread_id=%d\texec_time=0"
        b"\terror_code=0\nSET TIMESTAMP=%d/*!*/;\n%s\n/*!*/;\n"
        % (at * 100 + 4, utc(at), at * 100 + 104, at % 3 + 7, FIRST_S + at, text)
        for at, text in enumerate(statements)
    )


def number_bytes(n: int) -> bytes:
    """Return a length-encoded number."""
    if n < 251:
        return bytes([n])
    return b"\xfc" + struct.pack("<H", n) if n < 65536 else b"\xfe" + struct.pack("<Q", n)


def string_bytes(text: bytes) -> bytes:
    """Return a length-encoded string."""
    return number_bytes(len(text)) + text


def proxysql_binary(statements: Sequence[bytes]) -> bytes:
    """Return a ProxySQL events log in binary format."""
    out = []
    for at, text in enumerate(statements):
        start_us = (FIRST_S + at) * 1_000_000
        body = b"\0" + number_bytes(at % 3 + 7) + b"".join(map(string_bytes, (b"app", b"shop", b"10.0.0.5:51000")))
        body += number_bytes(3) + string_bytes(b"10.0.0.1:3306")
        body += b"".join(map(number_bytes, (start_us, start_us + 10, 1, 0, 0, 0x1234567890ABCDEF))) + string_bytes(text)
        out.append(struct.pack("<Q", len(body) + 1) + body)
    return b"".join(out)


def proxysql_json(statements: Sequence[bytes]) -> bytes:
    """Return a ProxySQL events log in JSON format."""
    rows = (
        {
            "hostgroup_id": 1,
            "thread_id": at % 3 + 7,
            "event": "COM_QUERY",
            "username": "app",
            "schemaname": "shop",
            "client": "10.0.0.5:51000",
            "query": text.decode(),
            "starttime_timestamp_us": (FIRST_S + at) * 1_000_000,
            "duration_us": 10,
        }
        for at, text in enumerate(statements)
    )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def audit_json(statements: Sequence[bytes]) -> bytes:
    """Return a log of Percona's audit_log plugin in JSON format."""
    rows = (
        {
            "audit_record": {
                "name": "Query",
                "timestamp": f"2024-06-10T{utc(at).decode()} UTC",
                "connection_id": str(at % 3 + 7),
                "status": 0,
                "sqltext": text.decode(),
                "user": "app[app] @ localhost []",
                "host": "localhost",
                "db": "shop",
            }
        }
        for at, text in enumerate(statements)
    )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def csv_text(statements: Sequence[bytes]) -> bytes:
    """Return CSV with the columns ts (seconds), sql and who."""
    rows = (
        b'%d,"%s",%d\n' % (FIRST_S + at, text.replace(b'"', b'""'), at % 3 + 7) for at, text in enumerate(statements)
    )
    return b"ts,sql,who\n" + b"".join(rows)


# Maps a test-only name to the log kind of `capture`, the writer, and the options of the log kind.
KINDS: dict[str, tuple[str, Callable[[Sequence[bytes]], bytes], dict[str, object]]] = {
    "slow": ("slowlog", slow_log, {}),
    "general": ("general", general_log, {}),
    "audit": ("audit", audit_log, {"query_limit": 2**30}),
    "binlog": ("binlog", binary_log, {}),
    "proxysql": ("proxysql", proxysql_binary, {}),
    "proxysql-json": ("proxysql", proxysql_json, {}),
    "audit-json": ("audit-json", audit_json, {}),
    "csv": ("csv", csv_text, {"column": ("time=ts", "statement=sql", "thread_id=who")}),
}

# For the logs parsed in C: the function that opens a log, and the writer.
NATIVE: dict[str, tuple[Callable[..., Reader], Callable[[Sequence[bytes]], bytes]]] = {
    "slow": (open_slowlog, slow_log),
    "general": (open_general, general_log),
    "audit": (open_server_audit, audit_log),
    "binlog": (open_binlog, binary_log),
    "proxysql": (open_proxysql, proxysql_binary),
}


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    """Yield `data` in pieces of `size` bytes."""
    view = memoryview(data)
    for at in range(0, len(view), size):
        yield bytes(view[at : at + size])


@contextmanager
def fifo_with(path: Path, data: bytes, piece: int) -> Iterator[Path]:
    """Create a FIFO that delivers `data` once to its first reader, in pieces of `piece` bytes."""
    os.mkfifo(path)

    def write() -> None:
        try:
            with path.open("wb", buffering=0) as out:
                for part in in_pieces(data, piece):
                    left = memoryview(part)
                    while left:
                        left = left[out.write(left) or 0 :]
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield path
    finally:
        writer.join(10)
        path.unlink()
