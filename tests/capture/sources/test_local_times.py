# SPDX-License-Identifier: Apache-2.0
"""Local times that occur twice or never. Causes are the end and start of daylight saving time, and clocks that were set
back.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.common.zones import read_zone
from querytape.native.bindings.parsers import open_general, open_server_audit, open_slowlog

from tests.helpers.command_line import run_here
from tests.helpers.reading import Read, read_quickly

AUTUMN, SPRING = "251026", "250330"


def general(day: str, at: list[tuple[str, int]]) -> str:
    """Return a MariaDB general log in which one thread sends a statement at each of these times."""
    return "".join(f"{day} {time:>8}\t{thread:6} Query\tSELECT {n}\n" for n, (time, thread) in enumerate(at))


def audit(day: str, at: list[tuple[str, int]]) -> str:
    """Return a server_audit log."""
    rows = (
        f"20{day} {time:0>8},db,app,web,{thread},{n},QUERY,s,'SELECT {n}',0\n" for n, (time, thread) in enumerate(at)
    )
    return "".join(rows)


def slow(day: str, at: list[tuple[str, int]]) -> str:
    """Return a slow log without SET timestamp lines, as some tools write it."""
    return "".join(
        f"# Time: {day} {time:>8}\n# User@Host: a[a] @ h []  Id: {thread}\n"
        f"# Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 0\nSELECT {n};\n"
        for n, (time, thread) in enumerate(at)
    )


KINDS: dict[str, tuple[Callable[..., str], Callable[..., Any]]] = {
    "general": (general, open_general),
    "audit": (audit, open_server_audit),
    "slow": (slow, open_slowlog),
}
TWICE = [("2:59:58", 1), ("2:59:59", 2), ("2:00:00", 1), ("2:00:01", 2), ("2:30:00", 2), ("3:00:00", 1), ("3:00:01", 2)]
ALONE = [(time, 1) for time, _ in TWICE]
SPARSE = [("1:10:00", 1), ("2:40:00", 2), ("2:20:00", 1), ("2:55:00", 2), ("3:10:00", 1), ("3:20:00", 2)]
MISSING = [("1:59:58", 1), ("1:59:59", 2), ("3:00:00", 1), ("3:00:01", 2)]
SET_BACK = [("2:10:30", 1), ("2:10:31", 2), ("2:10:01", 1), ("2:10:02", 2), ("2:10:40", 1), ("2:10:41", 2)]
OUT_OF_ORDER = [("2:10:30", 1), ("2:10:28", 2), ("2:10:31", 1)]
SILENCE = [("10:59:59", 1), ("12:00:00", 2), ("12:00:01", 1)]
HOURLY = [("0:00:01", 1), ("1:00:02", 2), ("2:00:00", 1), ("3:00:01", 2)]


def read(tmp_path: Path, kind: str, day: str, at: list[tuple[str, int]], zone: str | None = None) -> Read:
    """Return the events and problems of a log with these local times."""
    write, opened = KINDS[kind]
    (tmp_path / "a.log").write_text(write(day, at))
    return read_quickly(opened([str(tmp_path / "a.log")], None if zone is None else read_zone(zone)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zone", [None, "+02:00"])
@pytest.mark.parametrize(
    ("day", "at", "kinds", "row"),
    [
        (AUTUMN, TWICE, ["ambiguous_time"], 2),
        (AUTUMN, ALONE, ["ambiguous_time"], 2),
        (AUTUMN, SPARSE, ["ambiguous_time"], 2),
        (SPRING, MISSING, ["ambiguous_time"], 2),
        (AUTUMN, SET_BACK, ["clock_set_back"], 2),
        (AUTUMN, OUT_OF_ORDER, [], 0),
        (AUTUMN, SILENCE, [], 0),
        (AUTUMN, HOURLY, [], 0),
    ],
)
def test_jump_of_local_times_is_ambiguous(
    tmp_path: Path, kind: str, zone: str | None, day: str, at: list[tuple[str, int]], kinds: list[str], row: int
) -> None:
    """A jump of more than a minute is reported with its line. A pause, or events in the order of their ends, is not a
    jump.
    """
    found = read(tmp_path, kind, day, at, zone)
    assert found.kinds == kinds
    assert len(found.events) == len(at)
    if kinds:
        assert found.problems[0]["line"] == row * (4 if kind == "slow" else 1) + 1


def test_ambiguous_time_does_not_count_as_lost_input(tmp_path: Path) -> None:
    """All events are on the tape. The summary reports the number of uncertain times and the first place. The exit code
    is 4.
    """
    (tmp_path / "a.log").write_text(KINDS["general"][0](AUTUMN, TWICE))
    done = run_here("capture", "general", str(tmp_path / "a.log"), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    assert "NOT ALL OF THE INPUT" not in done.out
    lines = [line for line in done.out.splitlines() if not line.startswith("capture:")]
    assert lines[1].startswith(
        "  NOT ALL TIMES ON THE TAPE ARE CERTAIN: 1 clock change in local times is ambiguous: use --log-timezone"
    )
    assert lines[2].startswith(f"    first: {tmp_path / 'a.log'}, line 3: ambiguous_time: the local time goes back by ")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("day", "at"), [(AUTUMN, TWICE), (AUTUMN, ALONE), (AUTUMN, SPARSE), (SPRING, MISSING)])
def test_named_zone_resolves_ambiguous_times(tmp_path: Path, kind: str, day: str, at: list[tuple[str, int]]) -> None:
    """With a named time zone, the repeated local hour becomes two hours in UTC. The local hour that is skipped in
    spring has no time in UTC.
    """
    found = read(tmp_path, kind, day, at, "Europe/Berlin")
    assert found.kinds == []
    starts = sorted(event["start_ns"] for event in found.events)
    ends = [start // 1_000_000_000 % 86_400 for start in starts]
    first = [sum(int(part) * 60**place for place, part in enumerate(reversed(time.split(":")))) for time, _ in at]
    back = next((n for n in range(1, len(first)) if first[n] < first[n - 1]), len(at))
    offsets = [7200 if n < back else 3600 for n in range(len(at))] if day == AUTUMN else [3600, 3600, 7200, 7200]
    for end, local, offset in zip(ends, first, offsets, strict=True):
        assert abs(end - (local - offset) % 86_400) <= 1


def test_session_timestamps_are_not_jumps(tmp_path: Path) -> None:
    """MariaDB prints a session's own timestamp in `# Time`. Times of other events still come from the clock."""
    at = [("10:00:00", 1), ("10:00:01", 2), ("3:00:00", 1), ("10:00:02", 2), ("3:00:01", 1), ("10:00:03", 2)]
    assert read(tmp_path, "slow", AUTUMN, at).kinds == []
