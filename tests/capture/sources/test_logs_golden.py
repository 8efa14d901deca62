# SPDX-License-Identifier: Apache-2.0
"""Every column of every event of sample logs equals the reviewed results. A log in `golden/` has everything that its
kind can contain: every command and key, multi-line statements, invalid lines, underflowed numbers, restarts and a cut
end. QT_GOLDEN=write writes golden.json again. Review the difference before you commit it.
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
    """Read a log of the given kind to its end."""
    return read_quickly(OPENERS[name.split(".")[0].split("_")[0]](paths, zone))


def plain(found: Read) -> dict[str, Any]:
    """Return the events and problems in JSON form. Unknown columns are left out of each row."""
    return {
        "events": [plain_row(event) for event in found.events],
        "problems": [plain_row(problem) for problem in found.problems],
        "description": found.description,
        "not_understood": found.not_understood,
    }


@pytest.mark.parametrize("name", NAMES)
def test_logs_match_the_golden_file(name: str) -> None:
    """The test compares events, problems and the description of the log."""
    check_one(GOLDEN, name, plain(read(name, HERE / name)))


@pytest.mark.parametrize("name", NAMES)
def test_time_zone_shifts_local_times_only(name: str) -> None:
    """In a log with local times, a zone two hours further east makes the times two hours earlier. No other field
    changes.
    """
    here, there = read(name, HERE / name, zone=0).events, read(name, HERE / name, zone=2 * HOUR).events
    moved = [a["start_ns"] - b["start_ns"] for a, b in zip(here, there, strict=True)]
    check_one(GOLDEN, f"{name} to the east", [round(ns / HOUR, 3) for ns in moved])


@pytest.mark.parametrize("name", NAMES)
def test_cut_log_gives_the_same_events_before_the_cut(name: str, tmp_path: Path) -> None:
    """Only the last statement, and statements near an open quote, may differ from those of the whole log."""
    text = (HERE / name).read_bytes()
    whole = statements(read(name, HERE / name))
    starts = sorted(event["offset"] for event in read(name, HERE / name).events)
    path = tmp_path / "cut"
    for size in range(1, len(text), max(len(text) // 30, 1)):
        path.write_bytes(text[:size])
        try:
            found = statements(read(name, path))
        except InputError:
            assert size < 200, size  # a shorter log does not show its kind
            continue
        other = found - whole
        assert other.total() <= 3, (size, other)
        assert found.total() >= sum(start < size for start in starts) - 3, size


def statements(found: Read) -> Counter[tuple[str, int, bytes]]:
    """Count each combination of command, thread and statement."""
    return Counter((event["command"], event["thread_id"], event["statement"]) for event in found.events)


def test_thousands_of_alternating_sessions_stay_separate(tmp_path: Path) -> None:
    """Each thread id is one session. Sessions are numbered in the order of their first events."""
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
