# SPDX-License-Identifier: Apache-2.0
"""Shows runs on the metrics page: one replay, the sides of a comparison, or the levels of a sweep."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..replay import LiveRun, Watcher
from .metrics_page import MetricsPage

if TYPE_CHECKING:
    from ..metrics.names import Value


def values_of(live: LiveRun) -> Iterable["Value"]:
    """Return the current metrics of a run."""
    from ..metrics.names import run_values

    return run_values(live)


class ShownLevels(Watcher):
    """Shows the current level of a sweep. The label is the number of concurrent sessions."""

    def __init__(self, metrics: MetricsPage) -> None:
        self._metrics = metrics

    def running(self, live: LiveRun) -> None:
        """Show this level in place of the previous level."""
        self._metrics.put(lambda: values_of(live), {"sessions": live.name.removesuffix(".run")})


def show_round(metrics: MetricsPage, live: LiveRun) -> None:
    """Show a run of a comparison in place of the previous run of the same side."""
    side, number = round_of(live.name)
    metrics.put(lambda: values_of(live), {"side": side, "round": number}, side)


def round_of(name: str) -> tuple[str, str]:
    """Return side and round of a comparison's run by its folder: `a2.run` is (a, 2), `warm-a1.run` is (a, warm-1)."""
    warm, _, place = name.removesuffix(".run").rpartition("-")
    return place[:1], f"{warm}-" * bool(warm) + place[1:]


def round_heading(name: str, rounds: int, warmups: int) -> str:
    """Return the heading of a comparison's run: its round and side."""
    side, number = round_of(name)
    warm = number.startswith("warm-")
    which = f"warm-up {number.removeprefix('warm-')} of {warmups}" if warm else f"round {number} of {rounds}"
    return f"{which}, side {side}"


def quick_heading(name: str) -> str:
    """Return the heading of a run of `compare --quick`."""
    return f"one run of each statement on side {round_of(name)[0]}"
