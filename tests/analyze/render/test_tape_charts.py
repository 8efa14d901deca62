# SPDX-License-Identifier: Apache-2.0
"""The charts of a tape page. Only charts with data are drawn, and their numbers equal those of a simple reference
count.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import summarise_tape
from querytape.analyze.render.tape_charts import tape_charts
from querytape.analyze.tape_summary import MAX_BINS, bin_length

from tests.helpers.shapes import rows_of
from tests.helpers.tapes import MS, SECOND, T0, make_tape

pytestmark = pytest.mark.slow


def traffic(seed: int, count: int = 300) -> list[dict[str, Any]]:
    """Return events of four sessions over a few seconds: reads, writes, failures, and some long statements."""
    rng = random.Random(seed)
    events, clock = [], {session: rng.randint(0, 500) * MS for session in (1, 2, 3, 4)}
    for _ in range(count):
        session = min(clock, key=lambda s: clock[s])
        took = rng.choice([0, 1, 3, 40, 900]) * MS
        events.append(
            {
                "session": session,
                "start_ns": T0 + clock[session],
                "duration_ns": took,
                "statement": "x",
                "class": rng.choice(["read", "write", "transaction"]),
                "errno": rng.choice([0, 0, 0, 1062]),
            }
        )
        clock[session] += took + rng.randint(0, 60) * MS
    return events


def overlap(start: int, end: int, bin_start: int, bin_end: int) -> int:
    """Return the length of time that an interval and a bin have in common."""
    return max(min(end, bin_end) - max(start, bin_start), 0)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(4))
def test_numbers_per_bin_equal_a_reference_count(seed: int, tmp_path: Path) -> None:
    events = traffic(seed)
    summary = summarise_tape(make_tape(tmp_path / "t.tape", events, parts=3), pictures=True)
    zero, length = min(e["start_ns"] for e in events), summary.bin_ns
    ends = {(e["session"]): (e["start_ns"], e["start_ns"] + e["duration_ns"]) for e in events}
    firsts = {s: min(e["start_ns"] for e in events if e["session"] == s) for s in ends}
    rows = summary.pictures["over_time"]
    assert len(rows) == (max(e["start_ns"] for e in events) - zero) // length + 1
    for row in rows:
        begin, end = zero + row["bin"] * length, zero + (row["bin"] + 1) * length
        inside = [e for e in events if begin <= e["start_ns"] < end]
        assert (row["events"], row["reads"], row["writes"], row["errors"]) == (
            len(inside),
            sum(e["class"] == "read" for e in inside),
            sum(e["class"] == "write" for e in inside),
            sum(e["errno"] != 0 for e in inside),
        )
        running = sum(overlap(e["start_ns"], e["start_ns"] + e["duration_ns"], begin, end) for e in events)
        assert row["running"] == pytest.approx(running / length, abs=1e-9)
        lasting = sum(overlap(firsts[s], ends[s][1], begin, end) for s in ends)
        assert row["sessions"] == pytest.approx(lasting / length, abs=0.02)  # a session lasts until its last event


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
def test_charts_count_all_durations_and_think_times(seed: int, tmp_path: Path) -> None:
    """The heat map counts each event. The bars count each pause between an answer and the session's next statement."""
    events = traffic(seed)
    summary = summarise_tape(make_tape(tmp_path / "t.tape", events, parts=2), pictures=True)
    assert sum(row["n"] for row in summary.pictures["heat"]) == len(events)
    assert sum(row["n"] for row in summary.pictures["think_times"]) == len(events) - 4
    for row in summary.pictures["heat"]:
        begin = T0 + row["bin"] * summary.bin_ns
        low, high = 2 ** (row["height"] / 2), 2 ** ((row["height"] + 1) / 2)
        zero = min(e["start_ns"] for e in events) - T0
        of_bin = [e for e in events if 0 <= e["start_ns"] - zero - begin < summary.bin_ns]
        assert row["n"] == sum(low <= max(e["duration_ns"], 1) < high for e in of_bin)


def test_charts_without_data_are_not_drawn(tmp_path: Path) -> None:
    """Without durations, errors or connects, the corresponding chart is missing and the others remain."""
    known = summarise_tape(make_tape(tmp_path / "a.tape", traffic(1)), pictures=True)
    bare = [{**event, "duration_ns": None, "errno": None} for event in traffic(1)]
    unknown = summarise_tape(make_tape(tmp_path / "b.tape", bare), pictures=True)
    of_both = [[chart.name for chart in tape_charts(summary)] for summary in (known, unknown)]
    assert {"arrivals", "sessions", "running", "heat", "think", "errors"} <= set(of_both[0])
    assert not {"running", "heat", "errors"} & set(of_both[1])
    assert {"arrivals", "sessions"} <= set(of_both[1])


@pytest.mark.parametrize("span", [0, 1, 999, 10**6, 3 * SECOND, 61 * SECOND, 86_400 * SECOND, 4000 * 86_400 * SECOND])
@pytest.mark.parametrize("precision", [1, 1000, SECOND])
def test_bins_are_round_and_limited_in_number(span: int, precision: int) -> None:
    """At most MAX_BINS bins cover a tape of any length. No bin is shorter than the precision of the tape's times."""
    length = bin_length(*rows_of("inspect/totals", {"first_ns": T0, "last_ns": T0 + span, "precision_ns": precision}))
    assert span // length + 1 <= MAX_BINS
    assert length >= precision
    assert length % SECOND == 0 or SECOND % length == 0


def test_tape_without_events_has_no_time_charts(tmp_path: Path) -> None:
    summary = summarise_tape(make_tape(tmp_path / "t.tape", []), pictures=True)
    assert all(not chart.spec["data"]["values"] for chart in tape_charts(summary))
