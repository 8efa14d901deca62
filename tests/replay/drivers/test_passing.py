# SPDX-License-Identifier: Apache-2.0
"""The driver's side of an order of commits that several drivers keep together."""

import socket
import threading
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from querytape.native.bindings.engine import Engine
from querytape.replay.drivers.channel import Channel, Message
from querytape.replay.drivers.passing import Passing
from querytape.replay.plan.rules import Plan

from ...helpers.growing_log import wait_until


class Played:
    """An engine whose commits and stuck waits the test sets."""

    def __init__(self) -> None:
        self.shared: list[int] = []
        self.commits: list[bytes] = []
        self.waits: tuple[int, bool] | None = None
        self.settled: list[bytes] = []
        self.released = 0
        self.news = threading.Event()

    def share(self, tables: list[int]) -> None:
        self.shared = tables

    def finished(self, wait_ns: int) -> bytes:
        if not self.commits:
            self.news.wait(wait_ns / 1e9)
        self.news.clear()
        return self.commits.pop(0) if self.commits else b""

    def stuck(self) -> tuple[int, bool] | None:
        return self.waits

    def settle(self, commits: bytes) -> None:
        self.settled.append(commits)

    def let_go(self) -> None:
        self.released += 1


@pytest.fixture
def channels() -> Iterator[tuple[Channel, Channel]]:
    ours, theirs = (Channel(end) for end in socket.socketpair())
    yield ours, theirs
    ours.close()
    theirs.close()


def plan_at(path: Path) -> Plan:
    return cast(Plan, SimpleNamespace(order=path / "order.parquet", order_tables=1, order_notes=["known"]))


def ordered(*places: int) -> Message:
    return Message("ordered", {"tables": 12, "notes": ["all"]}, array("i", places).tobytes(), 0)


def receive(channel: Channel) -> Message:
    message = channel.receive(20)
    assert message is not None
    return message


def test_order_of_the_lead_process_replaces_the_own_order(channels: tuple[Channel, Channel], tmp_path: Path) -> None:
    passing, plan = Passing(channels[0]), plan_at(tmp_path)
    plan.order.write_bytes(b"own")
    passing.plan_is(plan)
    for body in (b"first ", b"second"):
        passing.take(Message("order", {}, body, 0))
    passing.take(ordered(4, 5))
    passing.apply(plan)
    assert plan.order.read_bytes() == b"first second"
    assert (plan.order_tables, plan.order_notes) == (12, ["all"])
    assert [path.name for path in tmp_path.iterdir()] == ["order.parquet"]


def test_driver_whose_events_neither_wait_nor_commit_gets_no_order(
    channels: tuple[Channel, Channel], tmp_path: Path
) -> None:
    passing, plan = Passing(channels[0]), plan_at(tmp_path)
    plan.order.write_bytes(b"own")
    passing.plan_is(plan)
    passing.take(ordered(4))
    passing.apply(plan)
    assert not plan.order.exists()


def test_own_order_stays_if_the_lead_process_sends_none(channels: tuple[Channel, Channel], tmp_path: Path) -> None:
    passing, plan, engine = Passing(channels[0]), plan_at(tmp_path), Played()
    plan.order.write_bytes(b"own")
    passing.plan_is(plan)
    passing.apply(plan)
    passing.start(cast(Engine, engine))
    passing.take(Message("finished", {}, b"x", 0))
    passing.end()
    assert plan.order.read_bytes() == b"own"
    assert (engine.shared, engine.settled) == ([], [])


def test_commits_and_stuck_waits_are_passed_in_both_directions(
    channels: tuple[Channel, Channel], tmp_path: Path
) -> None:
    passing, plan, engine = Passing(channels[0]), plan_at(tmp_path), Played()
    passing.plan_is(plan)
    passing.take(ordered(4, 7))
    passing.apply(plan)
    passing.take(Message("finished", {}, b"early", 0))
    passing.start(cast(Engine, engine))
    assert (engine.shared, engine.settled) == ([4, 7], [b"early"])
    engine.commits.append(b"commits")
    engine.news.set()
    told = receive(channels[1])
    assert (told.kind, told.body) == ("finished", b"commits")
    engine.waits = (500, True)
    told = receive(channels[1])
    for _ in range(2):  # repeated, because the next stuck wait may have the same due time
        assert (told.kind, told.values["due"], told.values["cause"]) == ("stuck", 500, True)
        told = receive(channels[1])
    engine.waits = None
    while told.values["due"] is not None:
        told = receive(channels[1])
    passing.take(Message("finished", {}, b"of others", 0))
    passing.take(Message("let_go", {}, b"", 0))
    assert (engine.settled, engine.released) == ([b"early", b"of others"], 1)
    engine.commits += [b"last", b"very last"]
    passing.end()
    assert [receive(channels[1]).body for _ in range(2)] == [b"last", b"very last"]
    passing.take(Message("finished", {}, b"late", 0))
    assert engine.settled == [b"early", b"of others"]


def test_lost_lead_process_ends_the_passing(channels: tuple[Channel, Channel], tmp_path: Path) -> None:
    passing, plan, engine = Passing(channels[0]), plan_at(tmp_path), Played()
    passing.plan_is(plan)
    passing.take(ordered(1))
    passing.start(cast(Engine, engine))
    channels[1].close()
    channels[0].close()
    engine.commits.append(b"commits")
    engine.news.set()
    before: Any = passing._thread
    wait_until(lambda: not before.is_alive(), "the thread has ended")
    passing.end()
