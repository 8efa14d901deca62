# SPDX-License-Identifier: Apache-2.0
"""Header lines of a slow log, with keys in any order, numbers at their limits, and accounts of every form."""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.parsers import open_slowlog
from querytape.schemas import FLAGS

from tests.helpers.reading import read_quickly

LARGEST = 9_223_372_036_854_775_799  # a larger number is from a counter that underflowed
COLUMNS = (
    "duration_ns",
    "lock_ns",
    "rows_sent",
    "rows_examined",
    "rows_affected",
    "bytes_sent",
    "errno",
    "thread_id",
    "db",
)
NUMBERS = {
    "Rows_sent": "rows_sent",
    "Rows_examined": "rows_examined",
    "Rows_affected": "rows_affected",
    "Bytes_sent": "bytes_sent",
    "Thread_id": "thread_id",
}
UNKNOWN = (
    "Rows_read: 7",
    "Created_tmp_tables: 1",
    "QC_hit: No",
    "Filesort:",
    "x-y",
    ":Rows_sent: 7",
    "Rows_sentt: 9",
    "=",
    "K: 1",
)


def entry(header: str, user: str = "u[u] @ h []", text: str = "SELECT 1") -> str:
    """Return an entry with these header lines, in MySQL's format."""
    time = "# Time: 2026-01-01T00:00:09.000000Z\n"
    return f"{time}# User@Host: {user}\n{header}\nSET timestamp=1767225609;\n{text};\n"


def read(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    """Return the events of a log."""
    (tmp_path / "slow.log").write_text(text, encoding="utf-8")
    return read_quickly(open_slowlog([str(tmp_path / "slow.log")])).events


@pytest.mark.parametrize("key", ["Query_time", "Lock_time"])
@pytest.mark.parametrize(
    "whole", [0, 1, 59, 86_400, 315_359_999, 315_360_000, 315_360_001, LARGEST, LARGEST + 1, 1 << 64]
)
def test_seconds_may_have_any_number_of_digits(key: str, whole: int, tmp_path: Path) -> None:
    """Up to nine digits after the point are used. A duration of ten years and more, or with two points, is unknown."""
    chance = random.Random(whole)
    for count in range(14):
        digits = "".join(chance.choices("0123456789", k=count))
        for text in (f"{whole}.{digits}", f"{whole}" if count == 0 else f"{whole}.{digits}.5"):
            other = {"Query_time": "Lock_time", "Lock_time": "Query_time"}[key]
            (event,) = read(tmp_path, entry(f"# {key}: {text}  {other}: 0.25 Rows_sent: 1  Rows_examined: 2"))
            wanted = whole * 10**9 + int(digits[:9].ljust(9, "0"))
            known = whole <= 315_360_000 and text.count(".") < 2
            column, beside = ("duration_ns", "lock_ns") if key == "Query_time" else ("lock_ns", "duration_ns")
            assert event[column] == (wanted if known else None), text
            assert (event[beside], event["rows_sent"], event["rows_examined"]) == (250_000_000, 1, 2)


@pytest.mark.parametrize("seed", range(6))
def test_header_keys_may_be_in_any_order(seed: int, tmp_path: Path) -> None:
    """One or more blanks separate keys and values. The keys are on one or more lines, and unknown keys may be between
    them.
    """
    chance = random.Random(seed)
    for _ in range(60):
        found: dict[str, Any] = dict.fromkeys(COLUMNS)
        seconds, lock = chance.choice([0, 5, 999_999]), chance.choice([0, 7])
        parts = [f"Query_time: 0.{seconds:06d}", f"Lock_time: 0.{lock:06d}"]
        found |= {"duration_ns": seconds * 1000, "lock_ns": lock * 1000}
        for key, column in NUMBERS.items():
            if chance.random() < 0.7:
                value = chance.choice([0, 1, 42, 2**31, 2**32, LARGEST, LARGEST + 1, 2**64 - 1])
                value = value if column != "thread_id" else chance.choice([1, 2**32])
                parts.append(f"{key}:{' ' * chance.choice([0, 1, 1, 3])}{value}")
                found[column] = value if value <= LARGEST else None
        if chance.random() < 0.5:
            number = chance.choice([0, 1, 1064, 65535])
            parts.append(f"{chance.choice(['Errno', 'Last_errno'])}: {number}")
            found["errno"] = number
        killed = chance.choice([None, 0, 1317])
        if killed is not None:
            parts.append(f"Killed: {killed}")
        if chance.random() < 0.5:
            parts.append(f"Schema: {'shop'}")
            found["db"] = "shop"
        parts += chance.sample(UNKNOWN, 2)
        chance.shuffle(parts)
        lines = ["# " + parts[0]]
        for part in parts[1:]:
            if chance.random() < 0.2 and ":" in part[1:]:
                lines.append("# " + part)
            else:
                lines[-1] += ("  " if "Schema" in lines[-1][-14:] else chance.choice(["  ", " ", "   "])) + part
        (event,) = read(tmp_path, entry("\n".join(lines)))
        assert {name: event[name] for name in found} == found, lines
        assert bool(event["flags"] & FLAGS["killed"]) is bool(killed)


@pytest.mark.parametrize(
    ("account", "wanted"),
    [
        ("app[app] @ web1 [10.0.0.7]  Id: 5", ("app", "web1", 5)),
        ("app[app] @  [10.0.0.7]  Id: 5", ("app", "10.0.0.7", 5)),
        ("app[app] @ web1 []  Id:     5", ("app", "web1", 5)),
        ("app[real] @ web1 [10.0.0.7]  Id: 5", ("real", "web1", 5)),
        ("[real] @ web1 [10.0.0.7] Id: 5", ("real", "web1", 5)),
        ("a@b[a@b] @ web1 [10.0.0.7] Id: 5", ("a@b", "web1", 5)),
        ("a@b[a@c] @ web1   [::1] Id: 5", ("a@c", "web1", 5)),
        ("[] @ web1 [] Id: 5", ("", "web1", 5)),
        ("app[app] @web1[] Id: 5", ("app", "web1", 5)),
    ],
)
def test_accounts_in_headers_are_parsed(account: str, wanted: tuple[str, str, int], tmp_path: Path) -> None:
    """The user is the name in brackets, even if the name contains an @. The host is the host name. If the host name is
    missing, the host is the address. The thread id is read as well.
    """
    times = "# Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 2"
    (event,) = read(tmp_path, entry(times, account))
    assert (event["user"] or "", event["host"], event["thread_id"]) == wanted


@pytest.mark.parametrize(
    ("header", "db"),
    [
        ("# Thread_id: 5  Schema: shop  QC_hit: No", "shop"),
        ("# Thread_id: 5  Schema:   QC_hit: No", ""),
        ("# Thread_id: 5  Schema:  QC_hit: No", ""),
        ("# Thread_id: 5  Schema: my shop  QC_hit: No", "my shop"),
        ("# Thread_id: 5  Schema: a:b  QC_hit: No", "a:b"),
        ("# Thread_id: 5  Schema: shop: Rows_sent: 3", ""),
        ("# Thread_id: 5  Schema: QC_hit: No", ""),
        ("# Thread_id: 5  Schema: QC_hit:  No", ""),
        ("# Thread_id: 5  Schema: a:  b: 5", ""),
        ("# Thread_id: 5  Schema: a b:c", "a b:c"),
        ("# Schema: shop  Last_errno: 0  Killed: 0", "shop"),
        ("# Thread_id: 5  Schema: shop ", "shop"),
        ("# Thread_id: 5  Schema: shop", "shop"),
        ("# Thread_id: 5  Schema: ", ""),
        ("# Thread_id: 5  Schema:", None),
        ("# Schema: x", "x"),
        ("# Thread_id: 5 Schema: shop QC_hit: No", "shop"),
        ("# Thread_id: 5 Schema: my shop QC_hit: No", "my shop"),
        ("# Schema: shop Last_errno: 0 Killed: 0", "shop"),
        ("# Schema: a:b Last_errno: 0", "a:b"),
    ],
)
def test_schema_names_in_headers_are_parsed(header: str, db: str | None, tmp_path: Path) -> None:
    """A schema name ends at two blanks, at a key or at the end of the line. The name may contain a blank or a colon.
    The name may be missing.
    """
    times = "# Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 2"
    (event,) = read(tmp_path, entry(f"{header}\n{times}"))
    assert (event["db"], event["rows_sent"], event["rows_examined"]) == (db, 1, 2)


@pytest.mark.parametrize("value", ["", "x", "-1", "1,5", "12abc", "1e-05", "NULL"])
@pytest.mark.parametrize(
    "key", ["Lock_time", "Last_errno", "Killed", "Start", "End", "Log_slow_rate_limit", "Query_time", *NUMBERS]
)
def test_unreadable_header_value_is_a_problem(tmp_path: Path, key: str, value: str) -> None:
    """An unreadable value of a header key makes the column of this key unknown. The event is kept."""
    known = [f"# {other}: 7\n" for other in ("Query_time", "Thread_id") if other != key]
    (tmp_path / "slow.log").write_text(entry(f"{''.join(known)}# {key}: {value}  Read_key: 1"))
    found = read_quickly(open_slowlog([str(tmp_path / "slow.log")]))
    assert ("bad_query_time" if key == "Query_time" else "bad_value") in found.kinds
    assert [event["statement"] for event in found.events] == [b"SELECT 1"]
    columns = {**NUMBERS, "Query_time": "duration_ns", "Lock_time": "lock_ns", "Last_errno": "errno"}
    if key in columns:
        assert found.events[0][columns[key]] is None


def test_underflowed_counters_are_not_problems(tmp_path: Path) -> None:
    """An underflowed counter is a fault of the server, which its users cannot fix."""
    numbers = "  ".join(f"{key}: {1 << 64}" for key in ("Rows_sent", "Rows_examined", "Rows_affected", "Bytes_sent"))
    text = entry(f"# Thread_id: 7  Schema: \n# Query_time: 0.5  Lock_time: 18446744073708.79  {numbers}")
    (tmp_path / "slow.log").write_text(text)
    assert read_quickly(open_slowlog([str(tmp_path / "slow.log")])).kinds == []
