# SPDX-License-Identifier: Apache-2.0
"""Tests of a driver: its answers, its agreement with the lead, and the loss of the lead before the start."""

import os
import signal
import socket
import threading
from typing import Any

import pytest
from querytape.common.errors import QuerytapeError
from querytape.native.bindings.engine import State
from querytape.replay import Watcher
from querytape.replay.checks.preflight import Finding
from querytape.replay.drivers.channel import Channel
from querytape.replay.drivers.driver import Driver
from querytape.replay.observe.ticks import Tick

TICK = Tick(1, 2, 3, 4, 5, 6, 7, 8, None, 9, 10, 11)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the signals that a driver sends to its own process."""
    signals: list[int] = []

    def kill(pid: int, number: int) -> None:
        assert pid == os.getpid()
        signals.append(number)

    monkeypatch.setattr("querytape.replay.drivers.driver.os.kill", kill)
    return signals


def pair(silent_s: float = 30) -> tuple[Channel, Driver]:
    """Return the lead's end of a driver's connection, and the driver."""
    ours, theirs = socket.socketpair()
    return Channel(ours), Driver(Channel(theirs), silent_s)


def next_of(lead: Channel, kind: str) -> dict[str, Any]:
    """Return the values of the next message, which must have this kind."""
    message = lead.receive(20)
    assert message is not None
    assert message.kind == kind
    return message.values


class Held:
    """An engine that is ready to start. `told` lists the start times that it received."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.state, self.sessions_open = State.READY, 5

    def peek(self) -> "Held":
        """Return the counters of the engine."""
        return self

    def go(self, zero_ns: int) -> None:
        """Record the start time."""
        self.told.append(zero_ns)


def test_driver_answers_while_it_waits_for_the_time_span(stopped: list[int]) -> None:
    """A driver answers clock requests during the wait. Then it plans its schedule with the first and the last time of
    all drivers.
    """
    lead, driver = pair()
    driver.listen()
    spans: list[tuple[int, int]] = []
    thread = threading.Thread(target=lambda: spans.append(driver.span(10, 20)))
    thread.start()
    assert next_of(lead, "span") == {"first": 10, "last": 20}
    lead.send("clock", sent=7)
    said = next_of(lead, "clock")
    assert said["sent"] == 7
    lead.send("clock", sent=8)
    assert next_of(lead, "clock")["there"] > said["there"]
    lead.send("span", first=1, last=99)
    thread.join(20)
    assert spans == [(1, 99)]
    engine = Held()
    driver.started(engine)  # type: ignore[arg-type]
    assert next_of(lead, "ready") == {"opened": 5}
    lead.send("go", zero=12345)
    next_of(lead, "going")
    assert engine.told == [12345]
    lead.close()
    driver._dismissed.wait(20)
    assert stopped == []  # the driver knows the start time and continues without its lead
    assert driver.lead_lost is not None


def test_findings_and_progress_reach_lead_and_watcher() -> None:
    seen: list[str] = []

    class Here(Watcher):
        def finding(self, finding: Finding) -> None:
            seen.append(finding.text)

        def tick(self, tick: Tick, done: int, plan: Any) -> None:
            seen.append(f"tick {tick.done}")

    ours, theirs = socket.socketpair()
    lead, driver = Channel(ours), Driver(Channel(theirs), shown=Here())
    driver.finding(Finding("warning", "it is warm"))
    driver.planning(7)
    driver.opening(3, None)  # type: ignore[arg-type]
    driver.tick(TICK, 4, None)  # type: ignore[arg-type]
    assert next_of(lead, "finding") == {"severity": "warning", "text": "it is warm"}
    assert next_of(lead, "planning") == {"events": 7}
    assert next_of(lead, "opening") == {"opened": 3}
    assert next_of(lead, "tick")["done"] == 4
    assert seen == ["it is warm", "tick 4"]


def test_late_start_is_reported_and_stops_the_run(stopped: list[int]) -> None:
    """The engine gets its start time too late to start at that time."""
    from querytape.common.errors import NativeFault

    class Late(Held):
        def go(self, zero_ns: int) -> None:
            raise NativeFault(7, "the time to begin is past")

    lead, driver = pair()
    driver.listen()
    driver.started(Late())  # type: ignore[arg-type]
    next_of(lead, "ready")
    lead.send("go", zero=1)
    assert next_of(lead, "late") == {"text": "the time to begin is past"}
    lead.send("clock", sent=1)
    next_of(lead, "clock")
    assert stopped == [signal.SIGTERM]


@pytest.mark.parametrize("how", ["ends", "is silent"])
def test_loss_of_the_lead_before_the_start_ends_the_driver(how: str, stopped: list[int]) -> None:
    """A waiting caller gets an error. The program ends with a cleanup, as after SIGTERM."""
    lead, driver = pair(0.3)
    driver.listen()
    if how == "ends":
        lead.close()
    with pytest.raises(
        QuerytapeError,
        match=r"the lead process was lost before the first event was sent: .*(was closed|was lost|sent nothing)",
    ):
        driver.span(1, 2)
    driver._dismissed.wait(20)
    assert stopped == [signal.SIGTERM]


def test_stop_message_of_the_lead_becomes_sigterm(stopped: list[int]) -> None:
    """Each stop message sends one SIGTERM. Before the run SIGTERM ends the program with a cleanup. During the run it
    stops the run.
    """
    lead, driver = pair()
    driver.listen()
    lead.send("stop")
    lead.send("stop")
    lead.send("bye", merged=True)
    assert driver._dismissed.wait(20)
    assert stopped == [signal.SIGTERM] * 2
    assert driver.merged
