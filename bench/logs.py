# SPDX-License-Identifier: Apache-2.0
"""Writes slow logs for the benches in the format of MySQL 8.0, with microseconds."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

HEADER = """/usr/sbin/mysqld, Version: 8.0.31 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time                 Id Command    Argument
"""
START_S = 1_718_000_000


def write_steady_log(path: Path, sessions: int, events_per_s: int, seconds: float, statement: str = "DO {n}") -> int:
    """Write a log of `sessions` connections that together send `events_per_s` events. Return the number of events."""
    count = int(events_per_s * seconds)
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as log:
        log.write(HEADER)
        for n in range(count):
            # Sessions take turns, so their statements never overlap. A small jitter keeps the order of events.
            at_s = START_S + (n + 0.5 * rng.random()) / events_per_s
            log.write(entry(at_s, n % sessions + 10, 0.0001, statement.format(n=n)))
    return count


def write_mixed_log(path: Path, events: int) -> None:
    """Write a log of ordinary statements from 97 connections. Some statements span many lines."""
    rng = random.Random(2)
    statements = list(_statements(rng))
    with path.open("w", encoding="utf-8") as log:
        log.write(HEADER)
        for count in range(events):
            at_s = START_S + count / 5_000
            log.write(entry(at_s, count % 97 + 10, rng.random() / 200, rng.choice(statements)))


def entry(end_s: float, thread_id: int, query_s: float, statement: str) -> str:
    """Return one entry of the log. The statement ended at `end_s`."""
    end = datetime.fromtimestamp(end_s, UTC)
    return (
        f"# Time: {end:%Y-%m-%dT%H:%M:%S.%f}Z\n"
        f"# User@Host: app[app] @ localhost [127.0.0.1]  Id: {thread_id:5}\n"
        f"# Query_time: {query_s:.6f}  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n"
        f"SET timestamp={int(end_s - query_s)};\n{statement};\n"
    )


def _statements(rng: random.Random) -> Iterator[str]:
    for _ in range(500):
        key, word = rng.randint(1, 10**7), "".join(rng.choices("abcdefghij", k=rng.randint(4, 40)))
        yield f"SELECT id, name, price FROM products WHERE id = {key}"
        yield f"UPDATE customers SET name = '{word}', visits = visits + 1 WHERE id = {key}"
        yield (
            f"SELECT o.id, o.total\n  FROM orders o\n  JOIN customers c ON c.id = o.customer_id\n"
            f" WHERE c.email = '{word}@example.org'\n   AND o.total > {key / 100}\n ORDER BY o.id DESC LIMIT 10"
        )
        yield f"INSERT INTO order_lines VALUES {', '.join(f'({key}, {i}, {i * 7}, 1, 9.90)' for i in range(1, 9))}"
