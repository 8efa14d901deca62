# SPDX-License-Identifier: Apache-2.0
"""Tests of the progress line of a capture."""

from querytape.cli.progress import CaptureProgress, line


def test_progress_line_shows_size_speed_events_and_time_left() -> None:
    """The line has at most 80 columns even for a large log. Sizes are in megabytes."""
    assert line(50_000_000, 100_000_000, 1234, 2.0) == "capture: 50 of 100 MB  25 MB/s  1,234 events  ETA 2 s"
    assert len(line(10**11, 10**12, 10**9, 3_600.0)) <= 80


def test_progress_line_for_input_of_unknown_size_has_no_time_left() -> None:
    assert line(50_000_000, None, 7, 2.0) == "capture: 50 MB  25 MB/s  7 events"
    assert "ETA" not in line(0, 100, 0, 0.0)


def test_short_capture_in_a_pipe_prints_no_progress() -> None:
    with CaptureProgress() as progress:
        assert progress._bar is None
