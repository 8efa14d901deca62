# SPDX-License-Identifier: Apache-2.0
"""Tests of the windows over the row groups of a tape. The windows are compared with a simple reference."""

import random
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from querytape.replay.plan.windows import Range, Window, measure, windows

from tests.helpers.tapes import MS, T0, make_tape


def reference(ranges: list[Range], window: Window) -> set[str]:
    """Return the files that can contain an event of the window. The function checks each nanosecond."""
    return {r.file for r in ranges for ns in range(window.begin_ns, window.end_ns) if r.first_ns <= ns <= r.last_ns}


def test_tape_without_parts_has_no_window() -> None:
    assert list(windows([])) == []


@pytest.mark.parametrize("seed", range(20))
def test_windows_contain_each_event_once(seed: int) -> None:
    """Windows are adjacent, list exactly the files with their events, and end when they are full."""
    rng = random.Random(seed)
    ranges = []
    for number in range(rng.randint(1, 12)):
        first = rng.randint(0, 60)
        ranges.append(Range(f"f{number % 5}", rng.randint(1, 9), rng.randint(1, 50), first, first + rng.randint(0, 30)))
    max_rows, max_bytes = rng.choice([(12, 100), (12, 10_000), (1000, 100)])
    found = list(windows(ranges, max_rows, max_bytes))
    assert found[0].begin_ns == min(r.first_ns for r in ranges)
    assert found[-1].end_ns == max(r.last_ns for r in ranges) + 1
    assert all(a.end_ns == b.begin_ns for a, b in pairwise(found))
    for window in found:
        assert set(window.files) == reference(ranges, window)
        inside = [r for r in ranges if window.begin_ns <= r.first_ns < window.end_ns]
        starts = {r.first_ns for r in inside}
        rows, size = sum(r.rows for r in inside), sum(r.bytes for r in inside)
        assert (rows <= max_rows and size <= max_bytes) or len(starts) == 1
        behind = [r for r in ranges if r.first_ns == window.end_ns]  # one more row group would exceed the limit
        rows, size = rows + sum(r.rows for r in behind), size + sum(r.bytes for r in behind)
        assert not behind or rows > max_rows or size > max_bytes


def test_row_groups_with_equal_starts_stay_together() -> None:
    ranges = [Range("a", 10, 1, 5, 5), Range("b", 10, 1, 5, 9)]
    assert list(windows(ranges, max_rows=10)) == [Window(5, 10, ("a", "b"))]


@pytest.mark.parametrize("equal", [False, True], ids=["different values", "one repeated value"])
def test_file_of_large_statements_is_cut_by_bytes(tmp_path: Path, equal: bool) -> None:
    """The pieces of the file are sorted by time. Each piece exceeds the limit by at most one event, even if values
    repeat.
    """
    sizes = [1000 * (1 + number % 7) for number in range(200)]
    events = [
        {"statement": bytes([65 if equal else 65 + n % 50]) * size, "start_ns": T0 + n * MS}
        for n, size in enumerate(sizes)
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    with duckdb.connect() as con:
        measured = measure(con, tape / "events" / "part-00000.parquet", max_bytes=50_000)
    assert measured is not None
    assert measured.event_bytes == 7000
    assert sum(piece.rows for piece in measured.pieces) == 200
    assert sum(piece.bytes for piece in measured.pieces) == sum(sizes)
    assert max(piece.bytes for piece in measured.pieces) <= 50_000 + 7000
    assert all(a.last_ns < b.first_ns for a, b in pairwise(measured.pieces))
