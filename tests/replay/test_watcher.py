# SPDX-License-Identifier: Apache-2.0
"""Tests of the watchers of a replay, and of a replay without other drivers."""

from pathlib import Path

import pytest
from querytape.replay import Finding, Plan, Tick, Watcher, replay
from querytape.replay.watcher import ALONE
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options


class Listener(Watcher):
    """A watcher that records the names of its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def planning(self, events: int) -> None:
        self.calls.append(f"planning {events}")

    def finding(self, finding: Finding) -> None:
        self.calls.append("finding")

    def planned(self, plan: Plan) -> None:
        self.calls.append(f"planned {plan.planned}")

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        self.calls.append(f"tick {done}")

    def ended(self) -> None:
        self.calls.append("ended")


@pytest.mark.server
def test_watcher_calls_come_in_order(shop: Server, tmp_path: Path) -> None:
    """The order is planning, findings, plan, ticks and end. The last tick has all events. The end call comes once."""
    events = [{"statement": "SELECT 1", "start_ns": T0 + n * 10 * MS} for n in range(7)]
    listener = Listener()
    replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "a.run"), listener)
    order = [call for place, call in enumerate(listener.calls) if call not in listener.calls[:place]]
    assert order[:3] == ["planning 7", "finding", "planned 7"]
    assert order[-2:] == ["tick 7", "ended"]
    assert listener.calls.count("ended") == 1


class Failing(Listener):
    """A watcher that fails at a tick."""

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        raise ZeroDivisionError


@pytest.mark.server
def test_failed_run_has_exactly_one_end_call(shop: Server, tmp_path: Path) -> None:
    listener = Failing()
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with pytest.raises(ZeroDivisionError):
        replay(tape, options(shop, tmp_path / "a.run"), listener)
    assert listener.calls[-1] == "ended"
    assert listener.calls.count("ended") == 1


def test_single_driver_keeps_its_own_time_span() -> None:
    assert ALONE.span(5, 9) == (5, 9)
    assert not ALONE.holds
