# SPDX-License-Identifier: Apache-2.0
"""Every column of every event of logs that have everything, against tapes that were looked at.

A log of `golden/` has what its kind can hold: every command and key, statements over several lines, lines that are
nothing, underflowed numbers, restarts, an end in the middle. QT_GOLDEN=write writes golden.json again: look at what
changed before it is committed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.parsers import (
    open_binlog,
    open_general,
    open_proxysql,
    open_server_audit,
    open_slowlog,
)
from querytape.native.bindings.reader import Reader

from tests.helpers.golden import check_one, plain_row, short_name
from tests.helpers.log_writers import fifo_with
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
    """A log that ends earlier: what is whole is told, what is not is said, the same as ever."""
    whole = (HERE / name).read_bytes()
    path = tmp_path / "cut"
    found = {}
    for size in range(1, len(whole), max(len(whole) // 30, 1)):
        path.write_bytes(whole[:size])
        try:
            got = plain(read(name, path))
        except Exception as error:
            got = {"error": type(error).__name__}
        got.pop("description", None)
        found[str(size)] = short_name(got)
    check_one(GOLDEN, f"{name} cut", found)


@pytest.mark.parametrize("name", NAMES)
def test_in_pieces(name: str, tmp_path: Path) -> None:
    """However a pipe gives it, byte for byte or a line at a time, a log is the same."""
    path = HERE / name
    wanted = plain(read(name, path))
    for piece in (1, 7, 100):
        with fifo_with(tmp_path / "fifo", path.read_bytes(), piece) as fifo:
            got = plain(read(name, fifo))
        for part in ("events", "not_understood"):
            assert got[part] == wanted[part], piece
        assert len(got["problems"]) == len(wanted["problems"])


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
