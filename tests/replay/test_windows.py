# SPDX-License-Identifier: Apache-2.0
"""The windows over a tape's row groups, against a stupid reference."""

import random
from itertools import pairwise

import pytest
from querytape.replay.windows import Range, Window, windows


def reference(ranges: list[Range], window: Window) -> set[str]:
    """Return the files that can hold an event of the window, found by looking at each nanosecond."""
    return {r.file for r in ranges for ns in range(window.begin_ns, window.end_ns) if r.first_ns <= ns <= r.last_ns}


def test_no_range_no_window() -> None:
    """A tape without a part has no window."""
    assert list(windows([])) == []


@pytest.mark.parametrize("seed", range(20))
def test_windows_cover_everything_once(seed: int) -> None:
    """Windows follow each other without a hole, touch just the right files, and are cut where they are full."""
    rng = random.Random(seed)
    ranges = []
    for number in range(rng.randint(1, 12)):
        first = rng.randint(0, 60)
        ranges.append(Range(f"f{number % 5}", rng.randint(1, 9), rng.randint(1, 50), first, first + rng.randint(0, 30)))
    found = list(windows(ranges, max_rows=12, max_bytes=100))
    assert found[0].begin_ns == min(r.first_ns for r in ranges)
    assert found[-1].end_ns == max(r.last_ns for r in ranges) + 1
    assert all(a.end_ns == b.begin_ns for a, b in pairwise(found))
    for window in found:
        assert set(window.files) == reference(ranges, window)
        inside = [r for r in ranges if window.begin_ns <= r.first_ns < window.end_ns]
        starts = {r.first_ns for r in inside}
        assert sum(r.rows for r in inside) <= 12 or len(starts) == 1


def test_equal_starts_stay_together() -> None:
    """Row groups that begin at the same nanosecond can't be cut apart."""
    ranges = [Range("a", 10, 1, 5, 5), Range("b", 10, 1, 5, 9)]
    assert list(windows(ranges, max_rows=10)) == [Window(5, 10, ("a", "b"))]
