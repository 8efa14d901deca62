# SPDX-License-Identifier: Apache-2.0
"""Tests of the lead process with drivers that follow a script. All drivers begin at one moment, or none begins."""

import random
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import QuerytapeError
from querytape.replay import Watcher
from querytape.replay.drivers import gathering
from querytape.replay.drivers.channel import Channel, ChannelClosed
from querytape.replay.drivers.gathering import Gathering
from querytape.replay.drivers.member import Member
from querytape.replay.plan.make_plan import NothingToSend
from querytape.replay.plan.rules import Plan, Rules
from querytape.schemas import Folder

from tests.helpers.tapes import MS

STAGES = ("hello", "span", "planned", "ready", "going")


@dataclass
class Scripted:
    """A driver that answers after `delays_s`, a delay for each stage. Its clock is `ahead_ns` ahead.

    `fails_at`: the stage at which it reports a failure. `idle_with`: why it has no events to send. `dies_at`: the stage
    at which its connection ends. `got`: the kinds of the messages that it got, without requests for its time. `spans`:
    the times that it shall use.
    """

    channel: Channel
    first: int
    delays_s: dict[str, float]
    ahead_ns: int = 0
    fails_at: str | None = None
    idle_with: list[list[Any]] | None = None
    dies_at: str | None = None
    got: list[str] = field(default_factory=list)
    span: tuple[int, int] | None = None
    zero: int | None = None

    def run(self) -> None:
        """Follow the script until the lead process dismisses the driver."""
        try:
            self.answer("hello", host="h", pid=1, cores=1)
            self.answer("span", first=self.first, last=self.first + 100)
            while (message := self.channel.receive(20)) is not None:
                if message.kind == "clock":
                    at = message.at_ns + self.ahead_ns
                    self.channel.send("clock", sent=message.values["sent"], there=at)
                    continue
                self.got.append(message.kind)
                if message.kind == "span":
                    self.span = message.values["first"], message.values["last"]
                    self.answer("planned", peak_sessions=1)
                elif message.kind == "open":
                    self.answer("ready", opened=1)
                elif message.kind == "go":
                    self.zero = message.values["zero"] - self.ahead_ns
                    self.answer("going")
                elif message.kind in ("stop", "bye"):
                    self.channel.close()
                    return
        except ChannelClosed:
            return

    def answer(self, stage: str, **values: Any) -> None:
        """Answer, or fail as the script says."""
        time.sleep(self.delays_s.get(stage, 0))
        if self.dies_at == stage:
            self.channel.close()
        if stage == "planned" and self.idle_with is not None:
            self.channel.send("failed", text="as scripted", error="idle", reasons=self.idle_with)
            return
        if self.fails_at == stage:
            late = stage == "going"
            self.channel.send(*(("late",) if late else ("failed",)), text="as scripted", error="other")
            return
        self.channel.send(stage, **values)


def gather(folder: Path, scripts: list[dict[str, Any]]) -> tuple[Gathering, list[Scripted]]:
    """Return a lead process and its scripted drivers."""
    lead = Gathering(Watcher(), None, stops_if_lost=False)
    drivers = []
    for number, script in enumerate(scripts, 1):
        ours, theirs = socket.socketpair()
        member = Member(number, [], folder / str(number), lead.news)
        lead.members.append(member)
        drivers.append(Scripted(Channel(theirs), **script))
        threading.Thread(target=drivers[-1].run, daemon=True).start()
        member.connect(Channel(ours))
    return lead, drivers


def begin(lead: Gathering, folder: Path) -> tuple[int, int]:
    """Take the steps of a lead process up to the start. Return the common times."""
    plan = Plan(Folder("tape", folder, {}), Rules(), folder)
    with lead._leading():
        lead._wait("start", lambda member: bool(member.hello), 20)
        span = lead._agree()
        lead._open(plan)
        lead._go(plan)
    return span


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "AHEAD_NS", 1_000 * MS)
    monkeypatch.setattr(gathering, "LEAVE_S", 1.0)


@pytest.mark.parametrize("seed", range(12))
def test_all_drivers_begin_at_one_moment_or_none_begins(seed: int, tmp_path: Path) -> None:
    """Delays, clocks, failures and losses are random. No driver gets the start before all drivers are ready."""
    chance = random.Random(seed)
    scripts: list[dict[str, Any]] = [
        {
            "first": chance.randrange(1000),
            "delays_s": {stage: chance.random() / 20 for stage in STAGES},
            "ahead_ns": chance.randrange(-(10**15), 10**15),
        }
        for _ in range(chance.randint(1, 5))
    ]
    bad = chance.choice([None, "fails_at", "dies_at"])
    stage = chance.choice(STAGES)
    if bad is not None:
        chance.choice(scripts)[bad] = stage
    lead, drivers = gather(tmp_path, scripts)
    if bad is None:
        before = time.monotonic_ns()
        span = begin(lead, tmp_path)
        firsts = [script["first"] for script in scripts]
        assert span == (min(firsts), max(firsts) + 100)
        assert all(driver.span == span for driver in drivers)
        assert all(driver.got[:3] == ["span", "open", "go"] for driver in drivers)
        for driver, member in zip(drivers, lead.members, strict=True):
            assert driver.zero is not None
            assert member.at_zero is not None
            assert abs(driver.zero - lead.zero_ns) <= member.at_zero.bound_ns
            assert lead.zero_ns > before
        return
    with pytest.raises(QuerytapeError, match=r"driver \d"):
        begin(lead, tmp_path)
    if stage != "going":
        assert not any("go" in driver.got for driver in drivers)


def test_driver_that_is_too_slow_is_named(tmp_path: Path) -> None:
    lead, _ = gather(tmp_path, [{"first": 0, "delays_s": {}}, {"first": 0, "delays_s": {"hello": 3}}])
    with (
        pytest.raises(QuerytapeError, match=r"driver 2.* did not start within 0\.2 s\. No event"),
        lead._leading(),
    ):
        lead._wait("start", lambda member: bool(member.hello), 0.2)


def test_interrupt_before_the_start_stops_all_drivers(tmp_path: Path) -> None:
    lead, drivers = gather(tmp_path, [{"first": 0, "delays_s": {"planned": 0.5}}] * 2)
    lead.stops = 1
    with pytest.raises(KeyboardInterrupt):
        begin(lead, tmp_path)
    assert not any("go" in driver.got for driver in drivers)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_reasons_of_all_idle_drivers_are_summed(count: int, tmp_path: Path) -> None:
    """The drivers end their plans one after another."""
    scripts = [
        {
            "first": 0,
            "delays_s": {"planned": 0.1 * n},
            "idle_with": [["filtered", "user", 10], ["filtered", f"n{n}", 1]],
        }
        for n in range(count)
    ]
    lead, _ = gather(tmp_path, scripts)
    others = ", ".join(f"1 filtered (n{n})" for n in range(count))
    with pytest.raises(NothingToSend) as caught:
        begin(lead, tmp_path)
    drivers = "1 driver" if count == 1 else f"{count} drivers"
    assert str(caught.value) == f"{drivers}: no event is left to send: {10 * count} filtered (user), {others}"
