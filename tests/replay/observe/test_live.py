# SPDX-License-Identifier: Apache-2.0
"""Tests of reading the state of a run while it is running, and afterwards."""

import threading
from pathlib import Path

import pytest
from querytape.replay import LiveRun, Plan, Tick, Watcher, replay
from querytape.replay.observe.live import Moment
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options

pytestmark = pytest.mark.server


class Looker(Watcher):
    """A watcher that reads the run from another thread as often as possible."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.end = threading.Event()
        self.thread = threading.Thread(target=self._look)

    def running(self, live: LiveRun) -> None:
        """Start the thread."""
        self.live = live
        self.thread.start()

    def _look(self) -> None:
        while not self.end.wait(0.001):
            self.moments.append(self.live.read())


def test_live_run_is_read_by_another_thread(shop: Server, tmp_path: Path) -> None:
    """Counters never decrease, not even at the end of the run. The last state stays readable and equals the result of
    the run.
    """
    events = [{"statement": "SELECT SLEEP(0.01)", "start_ns": T0 + n * 60 * MS} for n in range(50)]
    looker = Looker()
    run = replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "a.run", sample_ns=100 * MS), looker)
    looker.end.set()
    looker.thread.join()
    executed = [moment.stats.executed for moment in looker.moments]
    assert executed == sorted(executed)
    assert len(set(executed)) > 3
    assert looker.live.name == "a.run"
    last = looker.live.read()
    assert last is looker.live.read()
    assert last.stats.executed == run.info["accounting"]["executed"] == last.planned == 50
    assert last.meters.service["read"].count == last.meters.late.count == 50
    assert last.paced
    assert last.samples["status", "Com_select"] > 0


def test_readers_of_a_live_run_do_not_change_its_ticks(shop: Server, tmp_path: Path) -> None:
    """Each second with a sent event still has a p95."""
    events = [{"statement": "SELECT 1", "start_ns": T0 + n * 50 * MS} for n in range(60)]
    looker = Looker()
    ticks = []
    looker.tick = lambda tick, done, plan: ticks.append(tick)  # type: ignore[method-assign]
    replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "a.run"), looker)
    looker.end.set()
    looker.thread.join()
    assert [tick.p95_ns is None for tick in ticks] == [tick.done == 0 for tick in ticks]


def test_slowest_digests_are_listed(shop: Server, tmp_path: Path) -> None:
    """The digests with the most time come first, during and after the run. Their counters are those of the last tick."""
    events = []
    for n in range(6):
        events += [
            {"statement": "SELECT 1", "digest": "00000000000000aa", "start_ns": T0 + n * 500 * MS},
            {"statement": "SELECT SLEEP(0.4)", "digest": "ff000000000000bb", "start_ns": T0 + n * 500 * MS + MS},
        ]
    looker = Looker()
    seen = []
    due: list[int] = []

    def tick(tick: Tick, done: int, plan: Plan) -> None:
        seen.append(looker.live.slowest(1))
        due.append(looker.live.due() or 0)

    looker.tick = tick  # type: ignore[method-assign]
    replay(make_tape(tmp_path / "t.tape", events), options(shop, tmp_path / "a.run"), looker)
    looker.end.set()
    looker.thread.join()
    assert seen[-1][0].digest == "ff000000000000bb"
    slow, fast = looker.live.slowest(10)
    assert (slow.digest, slow.count, fast.digest, fast.count) == ("ff000000000000bb", 6, "00000000000000aa", 6)
    assert slow.sum_ns >= 6 * 400 * MS
    assert slow.sum_ns >= slow.max_ns >= 400 * MS
    assert looker.live.slowest(1) == [slow]
    assert looker.live.slowest(0) == []
    assert due[-1] == 12
    assert due == sorted(due)
    assert looker.live.due() is None
    assert looker.live.counters is not None
    assert looker.live.counters.executed == 12
    assert looker.live.target.startswith(f"root@127.0.0.1:{shop.port}")


def test_run_without_pace_is_never_late(shop: Server, tmp_path: Path) -> None:
    looker = Looker()
    due = []
    looker.tick = lambda tick, done, plan: due.append(looker.live.due())  # type: ignore[method-assign]
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    replay(tape, options(shop, tmp_path / "a.run", pace=Pace("none")), looker)
    looker.end.set()
    looker.thread.join()
    assert not looker.live.read().paced
    assert set(due) == {None}
    assert looker.live.read().meters.late.count == 0
