# SPDX-License-Identifier: Apache-2.0
"""Tests of the largest load of a tape, and of the number of machines that it needs."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.tools.deal import deal
from querytape.replay.sizing import TapeLoad, sizing, tape_load
from querytape.schemas import open_folder

from tests.helpers.tapes import MS, T0, make_tape

LIMITS = {"files": 20_064, "threads": 10_032, "thread_limit": "ulimit -u", "mappings": 65_530, "ports": 28_232}


def calibration(rate: float, **limits: Any) -> dict[str, Any]:
    """Return the result of `calibrate` on a machine with this highest rate."""
    return {"levels": [{"queries_per_second": n} for n in (rate / 2, rate)], "limits": {**LIMITS, **limits}}


@pytest.mark.parametrize("seed", range(5))
def test_load_is_that_of_a_count_event_by_event(seed: int, tmp_path: Path) -> None:
    """The set of the same events has the same load."""
    chance = random.Random(seed)
    times = {
        session: sorted(T0 + chance.randrange(20_000) * MS for _ in range(chance.randint(1, 12)))
        for session in range(1, chance.randint(5, 40))
    }
    events = [{"session": session, "start_ns": at} for session, listed in times.items() for at in listed]
    tape = make_tape(tmp_path / "t.tape", sorted(events, key=lambda event: event["start_ns"]))
    seconds = Counter(event["start_ns"] // 10**9 for event in events)
    most = max(
        sum(listed[0] <= at <= listed[-1] for listed in times.values()) for each in times.values() for at in each
    )
    expected = TapeLoad(max(seconds.values()), most, len(times))
    deal(tmp_path / "t.tape", 3, tmp_path / "t.set")
    assert tape_load(open_folder("tape", tape)) == tape_load(open_folder("tape", tmp_path / "t.set")) == expected


@pytest.mark.parametrize(
    ("load", "drivers", "limit"),
    [
        (TapeLoad(0, 0, 99), 1, "queries/s"),
        (TapeLoad(70_000, 10, 99), 1, "queries/s"),
        (TapeLoad(70_001, 10, 99), 2, "queries/s"),
        (TapeLoad(700_000, 10, 99), 10, "queries/s"),
        (TapeLoad(1, 10_000, 99), 1, "threads"),
        (TapeLoad(1, 10_001, 99), 2, "threads"),
        (TapeLoad(1, 95_000, 99), 10, "threads"),
    ],
)
def test_scarcest_limit_gives_the_number_of_machines(load: TapeLoad, drivers: int, limit: str) -> None:
    """A machine should send at most 70 % of its highest rate."""
    found = sizing(load, calibration(100_000))
    assert found.drivers == drivers
    if load.sessions:
        assert next(iter(found.uses)) == limit


def test_unknown_limits_are_no_limits() -> None:
    found = sizing(TapeLoad(7, 1_000_000, 99), calibration(100, **dict.fromkeys(LIMITS)))
    assert found.drivers == 1
    assert found.speed == pytest.approx(10)
    assert sizing(TapeLoad(0, 0, 99), calibration(100)).speed is None
