# SPDX-License-Identifier: Apache-2.0
"""Tests of the progress line printed each second."""

import itertools
import os
from contextlib import suppress

import pytest
from querytape.cli.live_lines import HEADER, ORDER_HEADER, LiveLines, line, progress
from querytape.common.units import short_count, short_duration
from querytape.replay.observe.ticks import Tick

SECOND = 1_000_000_000


def tick(at_s: int = 12, number: int = 100, ns: int | None = 1_200_000) -> Tick:
    """Return a tick whose counts all equal `number` and whose durations all equal `ns`."""
    return Tick(at_s * SECOND, 0, number, number, number, number, number, number, ns, ns, 0, 0)


def test_progress_line_is_aligned_with_its_header() -> None:
    one = Tick(12 * SECOND, 0, 48, 1523, 1100, 300, 123, 3, 1_200_000, 400_000, 0, 0)
    assert HEADER == "   time   open    q/s   read  write  other    p95  err/s   late  done      eta"
    assert line(one, SECOND, 0.34, 23 * SECOND) == (
        "   0:12     48   1523   1100    300    123  1.2ms      3  400µs   34%     0:23"
    )
    assert len(HEADER) == len(line(one, SECOND, 0.34, None))


def test_progress_line_shows_order_waits_and_timed_out_waits() -> None:
    one = Tick(12 * SECOND, 0, 48, 1523, 1100, 300, 123, 3, 1_200_000, 400_000, 0, 0, 210, 7)
    assert ORDER_HEADER == "   time   open    q/s  write  waits broken    p95  err/s   late  done      eta"
    assert line(one, SECOND, 0.34, 23 * SECOND, ordered=True) == (
        "   0:12     48   1523    300    210      7  1.2ms      3  400µs   34%     0:23"
    )
    assert len(ORDER_HEADER) == len(line(one, SECOND, 0.34, None, ordered=True))


NUMBERS = [0, 9_999, 99_949, 99_950, 999_499, 999_500, 10**8, 10**12, 2**62]
DURATIONS = [None, 0, 999_499, 999_500, 9_949_999, 9_950_000, 999 * 10**6, 3599 * SECOND, 10**15, 2**62]


def test_reader_that_ends_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may pipe stderr into head."""
    reader, writer = os.pipe()
    os.close(reader)
    pipe = os.fdopen(writer, "w", buffering=1, encoding="utf-8")
    monkeypatch.setattr("sys.stderr", pipe)
    shown = LiveLines()
    for _ in range(3):
        shown.say("a line")
    with suppress(BrokenPipeError):
        pipe.close()


@pytest.mark.parametrize(("number", "ns"), list(itertools.product(NUMBERS, DURATIONS)))
def test_progress_line_never_exceeds_80_columns(number: int, ns: int | None) -> None:
    found = line(tick(99 * 3600, number, ns), SECOND // 3, 2.0, 99 * 3600 * SECOND)
    assert len(found) <= 80
    assert len(short_count(number)) <= 5
    assert len(short_duration(ns)) <= 5


def test_progress_counts_time_if_paced_and_events_if_unpaced() -> None:
    assert progress(SECOND, 4 * SECOND, 0, 100, True) == (0.25, 3 * SECOND)
    assert progress(SECOND, 4 * SECOND, 50, 100, False) == (0.5, SECOND)
    assert progress(0, 4 * SECOND, 0, 100, False) == (0.0, None)
    assert progress(5 * SECOND, 4 * SECOND, 0, 100, True)[1] == 0
