# SPDX-License-Identifier: Apache-2.0
"""Draws a row of values as one character each, and a share as a bar."""

from collections.abc import Sequence

BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.:-=+*#"
FULL, EMPTY = "━", "─"


def sparkline(values: Sequence[int | None], width: int, ascii_only: bool = False) -> str:
    """Return the last `width` values, the newest at the right end; the highest of them has the highest block.

    Nothing is a blank, zero the lowest block, and what is more than zero is higher than that.
    """
    levels = PLAIN if ascii_only else BLOCKS
    shown = list(values)[-width:] if width > 0 else []
    most = max((value for value in shown if value is not None), default=0)
    return "".join(" " if value is None else levels[_level(value, most, len(levels) - 1)] for value in shown).rjust(
        max(width, 0)
    )


def _level(value: int, most: int, highest: int) -> int:
    if value <= 0:
        return 0
    return max(1, (value * highest + most // 2) // most)


def bar(share: float, width: int, ascii_only: bool = False) -> tuple[str, str]:
    """Return what is done of a bar, and what is not."""
    done = int(min(max(share, 0.0), 1.0) * width)
    full, empty = ("#", "-") if ascii_only else (FULL, EMPTY)
    return full * done, empty * (width - done)
