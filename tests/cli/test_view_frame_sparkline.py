# SPDX-License-Identifier: Apache-2.0
"""Tests of sparklines (values drawn as block characters) and progress bars."""

import random

import pytest
from querytape.cli.view_frame import BLOCKS, PLAIN, bar, sparkline


def test_sparkline_height_follows_the_value() -> None:
    """The highest value has the highest block, and zero has the lowest block. A missing value is a blank. The latest
    value is on the right.
    """
    assert sparkline([0, 1, 4, 7, None], 5) == "▁▂▅█ "
    assert sparkline([0, 1, 4, 7, None], 8) == "   ▁▂▅█ "
    assert sparkline([9, 0, 1, 4, 7], 4) == "▁▂▅█"  # scaled to the maximum of the visible values
    assert sparkline([0, 0], 2) == "▁▁"
    assert sparkline([1, 1_000_000], 2) == "▂█"  # a small value is drawn higher than zero
    assert sparkline([None, None], 2) == "  "
    assert sparkline([], 3) == "   "
    assert sparkline([0, 1, 4, 7], 4, ascii_only=True) == "_.-#".replace("-", PLAIN[4])


@pytest.mark.parametrize("width", [-1, 0, 1, 7, 60, 100])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_sparkline_keeps_its_width_and_the_order_of_values(width: int, ascii_only: bool) -> None:
    levels = PLAIN if ascii_only else BLOCKS
    rng = random.Random(width)
    for most in (1, 2, 7, 8, 9, 10**3, 2**62):
        values = [rng.choice([None, 0, rng.randint(0, most)]) for _ in range(60)]
        found = sparkline(values, width, ascii_only)
        assert len(found) == max(width, 0)
        pairs = [
            (value, levels.index(char))
            for value, char in zip(values[-width:], found[-len(values) :], strict=False)
            if value is not None and width > 0
        ]
        if width >= 60:
            heights = [height for _, height in sorted(pairs)]
            assert heights == sorted(heights)
            assert all((height == 0) == (value == 0) for value, height in pairs)


def test_filled_and_empty_parts_of_a_bar_add_up_to_its_width() -> None:
    assert bar(0.5, 10) == ("━━━━━", "─────")
    assert bar(0.5, 4, ascii_only=True) == ("##", "--")
    for share in (-1.0, 0.0, 0.001, 0.999, 1.0, 7.5):
        done, open_ = bar(share, 30)
        assert len(done) + len(open_) == 30
        assert (len(done) == 30) == (share >= 1)
        assert (len(done) == 0) == (share < 1 / 30)
