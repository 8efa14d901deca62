# SPDX-License-Identifier: Apache-2.0
"""Shows runs on the page of metrics: of one replay, of a comparison's sides, of a sweep's levels."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..replay import LiveRun, Watcher
from .metrics_page import MetricsPage

if TYPE_CHECKING:
    from ..metrics.collector import Value


def values_of(live: LiveRun) -> Iterable["Value"]:
    """Return what a run says of itself now."""
    from ..metrics.replay_values import run_values

    return run_values(live)


class ShownLevels(Watcher):
    """Shows the level of a sweep that is under way; its label says how many sessions it has at once."""

    def __init__(self, metrics: MetricsPage) -> None:
        self._metrics = metrics

    def running(self, live: LiveRun) -> None:
        """Show this level in place of the one before."""
        self._metrics.put(lambda: values_of(live), {"sessions": live.name.removesuffix(".run")})


def show_round(metrics: MetricsPage, live: LiveRun) -> None:
    """Show a run of a comparison in place of the one of its side before: `a2.run` is side a, round 2."""
    name = live.name.removesuffix(".run")
    warm, _, place = name.rpartition("-")
    metrics.put(lambda: values_of(live), {"side": place[:1], "round": f"{warm}-" * bool(warm) + place[1:]}, place[:1])
