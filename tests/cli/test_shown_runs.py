# SPDX-License-Identifier: Apache-2.0
"""Tests of the labels that displayed runs have."""

from contextlib import ExitStack
from typing import cast

import pytest
from querytape.cli.metrics_page import MetricsPage
from querytape.cli.shown_runs import ShownLevels, quick_heading, round_heading, show_round
from querytape.metrics.collector import Labels, Source
from querytape.replay import LiveRun


class Named:
    """A replacement for a run. It has only a name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Noting(MetricsPage):
    """A metrics page that records its `put` calls."""

    def __init__(self) -> None:
        super().__init__(None, ExitStack())
        self.found: list[tuple[Labels | None, str]] = []

    def put(self, source: Source, labels: Labels | None = None, slot: str = "") -> None:
        self.found.append((labels, slot))


@pytest.mark.parametrize(
    ("name", "side", "number"), [("a1.run", "a", "1"), ("b12.run", "b", "12"), ("warm-a3.run", "a", "warm-3")]
)
def test_side_and_round_come_from_the_run_name(name: str, side: str, number: str) -> None:
    page = Noting()
    show_round(page, cast(LiveRun, Named(name)))
    assert page.found == [({"side": side, "round": number}, side)]


def test_heading_shows_round_side_and_total() -> None:
    assert round_heading("b2.run", 5, 1) == "round 2 of 5, side b"
    assert round_heading("warm-a1.run", 5, 2) == "warm-up 1 of 2, side a"
    assert quick_heading("warm-b1.run") == "one run of each statement on side b"


def test_sweep_levels_share_one_slot_of_the_metrics_page() -> None:
    page = Noting()
    ShownLevels(page).running(cast(LiveRun, Named("16.run")))
    assert page.found == [({"sessions": "16"}, "")]
