# SPDX-License-Identifier: Apache-2.0
"""Shows runs on the page of metrics: of one replay, of a comparison's sides, of a sweep's levels."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..replay import LiveRun, Watcher
from .metrics_page import MetricsPage

if TYPE_CHECKING:
    from ..metrics.names import Value


def values_of(live: LiveRun) -> Iterable["Value"]:
    """Return what a run says of itself now."""
    from ..metrics.names import run_values

    return run_values(live)


class ShownLevels(Watcher):
    """Shows the level of a sweep that is under way; its label says how many sessions it has at once."""

    def __init__(self, metrics: MetricsPage) -> None:
        self._metrics = metrics

    def running(self, live: LiveRun) -> None:
        """Show this level in place of the one before."""
        self._metrics.put(lambda: values_of(live), {"sessions": live.name.removesuffix(".run")})


def show_round(metrics: MetricsPage, live: LiveRun) -> None:
    """Show a run of a comparison in place of the one of its side before."""
    side, number = round_of(live.name)
    metrics.put(lambda: values_of(live), {"side": side, "round": number}, side)


def round_of(name: str) -> tuple[str, str]:
    """Return side and round of a comparison's run by its folder's name: `a2.run` is a, 2; `warm-a1.run` a, warm-1."""
    warm, _, place = name.removesuffix(".run").rpartition("-")
    return place[:1], f"{warm}-" * bool(warm) + place[1:]


def round_heading(name: str, rounds: int, warmups: int) -> str:
    """Return which round and side of a comparison a run is, as a heading."""
    side, number = round_of(name)
    warm = number.startswith("warm-")
    which = f"warm-up {number.removeprefix('warm-')} of {warmups}" if warm else f"round {number} of {rounds}"
    return f"{which}, side {side}"


def quick_heading(name: str) -> str:
    """Return what a run of `compare --quick` is, as a heading."""
    return f"one run of each statement on side {round_of(name)[0]}"
