# SPDX-License-Identifier: Apache-2.0
"""Every column of every event of logs that have everything, against tapes that were looked at.

A log of `golden/` has what its kind can hold: every command and key, statements over several lines, lines that are
nothing, underflowed numbers, restarts, an end in the middle. QT_GOLDEN=write writes golden.json again: look at what
changed before it is committed.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.native.bindings.parsers import (
    open_binlog,
    open_general,
    open_proxysql,
    open_server_audit,
    open_slowlog,
)
from querytape.native.bindings.reader import Reader

from tests.helpers.golden import check_one, plain_row
from tests.helpers.reading import Read, read_quickly

HERE = Path(__file__).parent / "golden"
GOLDEN = HERE / "golden.json"
HOUR = 3_600_000_000_000
OPENERS: dict[str, Callable[..., Reader]] = {
    "slow": open_slowlog,
    "general": open_general,
    "audit": lambda paths, zone=None: open_server_audit(paths, zone, limit=64),
    "binlog": open_binlog,
    "proxysql": lambda paths, zone=None: open_proxysql(paths),
}
NAMES = sorted(path.name for path in HERE.iterdir() if path.suffix != ".json")


def read(name: str, *paths: Path, zone: int | None = None) -> Read:
    """Return all of a log of a kind."""
    return read_quickly(OPENERS[name.split(".")[0].split("_")[0]](paths, zone))


def plain(found: Read) -> dict[str, Any]:
    """Return what was read as JSON has it: of each row the columns that are known."""
    return {
        "events": [plain_row(event) for event in found.events],
        "problems": [plain_row(problem) for problem in found.problems],
        "description": found.description,
        "not_understood": found.not_understood,
    }


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str) -> None:
    """Events, problems and what is said of the log are what they were."""
    check_one(GOLDEN, name, plain(read(name, HERE / name)))


@pytest.mark.parametrize("name", NAMES)
def test_in_another_time_zone(name: str) -> None:
    """Where the log has local times, two hours to the east are two hours earlier; nothing else changes."""
    here, there = read(name, HERE / name, zone=0).events, read(name, HERE / name, zone=2 * HOUR).events
    moved = [a["start_ns"] - b["start_ns"] for a, b in zip(here, there, strict=True)]
    check_one(GOLDEN, f"{name} to the east", [round(ns / HOUR, 3) for ns in moved])


@pytest.mark.parametrize("name", NAMES)
def test_cut_anywhere(name: str, tmp_path: Path) -> None:
    """A log that ends earlier: all is as in the whole log but the last statement, and those around a quote left open."""
    text = (HERE / name).read_bytes()
    whole = statements(read(name, HERE / name))
    starts = sorted(event["offset"] for event in read(name, HERE / name).events)
    path = tmp_path / "cut"
    for size in range(1, len(text), max(len(text) // 30, 1)):
        path.write_bytes(text[:size])
        try:
            found = statements(read(name, path))
        except InputError:
            assert size < 200, size  # too little to know the kind of log
            continue
        other = found - whole
        assert other.total() <= 3, (size, other)
        assert found.total() >= sum(start < size for start in starts) - 3, size


def statements(found: Read) -> Counter[tuple[str, int, bytes]]:
    """Return how often each command of a thread with its statement is in what was read."""
    return Counter((event["command"], event["thread_id"], event["statement"]) for event in found.events)


def test_many_sessions(tmp_path: Path) -> None:
    """Thousands of thread ids in turn: each is one session, numbered as it came, and has all of its events."""
    ids = [number * 7919 % 100_003 for number in range(1, 3001)]
    text = "".join(
        f"2024-06-10T06:13:20.{turn}00000Z\t{id_:5d} Query\tSELECT {id_}\n" for turn in (1, 2) for id_ in ids
    )
    path = tmp_path / "many.log"
    path.write_text(text)
    found = read("general", path).events
    assert [(e["thread_id"], e["session"], e["seq"], e["statement"]) for e in found] == [
        (id_, number, turn, b"SELECT %d" % id_) for turn in (1, 2) for number, id_ in enumerate(ids, 1)
    ]
