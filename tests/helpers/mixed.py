# SPDX-License-Identifier: Apache-2.0
"""A slow log with many different sessions, and the tape of this log."""

import random
from pathlib import Path

from querytape.capture import capture

STATEMENTS = (
    "SELECT v FROM account WHERE id = {n}",
    "UPDATE account SET v = v + 1 WHERE id = {n}",
    "BEGIN",
    "INSERT INTO log VALUES ({n}, 'it''s')",
    "COMMIT",
    "SELECT count(*) FROM log WHERE n > {n}",
    "SET NAMES utf8mb4",
)


def mixed_log(path: Path, sessions: int, statements: int, seed: int = 1) -> Path:
    """Write a log with `statements` statements in total. Some sessions are heavy and most are light. One entry cannot
    be parsed.
    """
    chance = random.Random(seed)
    weights = [1 / (1 + n) ** 0.7 for n in range(sessions)]
    chosen = list(range(sessions)) + chance.choices(range(sessions), weights, k=max(statements - sessions, 0))
    lines, second = [], 0.0
    for number, session in enumerate(chosen):
        second += chance.random() / 50
        took = chance.random() ** 4 / (1 + session)
        lines += [
            f"# Time: 2026-11-20T10:{int(second) // 60:02}:{second % 60:09.6f}Z",
            f"# User@Host: u{session % 3}[u{session % 3}] @ web{session % 5} []  Id: {100 + session}",
            f"# Query_time: {took:.6f}  Lock_time: 0.000001 Rows_sent: {number % 4}  Rows_examined: {number % 9}",
            *(["use shop;"] if number < sessions else []),
            f"SET timestamp={1_795_168_800 + int(second)};",
            f"{chance.choice(STATEMENTS).format(n=chance.randrange(50))};",
        ]
    path.write_text("\n".join([*lines, "# Time: never", "# User@Host: half", ""]))
    return path


def mixed_tape(path: Path, sessions: int, statements: int, seed: int = 1) -> Path:
    """Write the log next to `path`, capture it to the tape `path`, and return the tape."""
    capture(mixed_log(path.with_suffix(".log"), sessions, statements, seed), path, "slowlog")
    return path
