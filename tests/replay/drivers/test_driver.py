# SPDX-License-Identifier: Apache-2.0
"""A driver answers at once, waits for what all agree on, and sends nothing where its lead is lost before zero."""

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
    """The signals that a driver sends to its own process."""
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
    """Return the values of the next message, which is of this kind."""
    message = lead.receive(20)
    assert message is not None
    assert message.kind == kind
    return message.values


class Held:
    """An engine that is ready, or what a test says; `told`: when it was told to begin."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.state, self.sessions_open = State.READY, 5

    def peek(self) -> "Held":
        """Return its counters."""
        return self

    def go(self, zero_ns: int) -> None:
        """Take when zero is."""
        self.told.append(zero_ns)


def test_it_answers_at_once_and_agrees(stopped: list[int]) -> None:
    """The time is told while it waits for the others; then it plans with the first and last moment of all."""
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
    assert stopped == []  # zero was told: it goes on
    assert driver.lead_lost is not None


def test_what_is_told() -> None:
    """Findings, ticks and progress reach the lead, and who looks on here."""
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


def test_a_late_go_is_told(stopped: list[int]) -> None:
    """An engine that can't keep zero any more: the lead hears it, and the run is stopped."""
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
def test_the_lead_is_lost_before_zero(how: str, stopped: list[int]) -> None:
    """Who waits is told, and the program is ended in order, as by SIGTERM."""
    lead, driver = pair(0.3)
    driver.listen()
    if how == "ends":
        lead.close()
    with pytest.raises(
        QuerytapeError, match=r"the lead was lost before the first event was sent: .*(was closed|was lost|sent nothing)"
    ):
        driver.span(1, 2)
    driver._dismissed.wait(20)
    assert stopped == [signal.SIGTERM]


def test_a_stop_is_a_signal(stopped: list[int]) -> None:
    """Each stop of the lead's is one SIGTERM: before the run it unwinds, in it the run is stopped."""
    lead, driver = pair()
    driver.listen()
    lead.send("stop")
    lead.send("stop")
    lead.send("bye", merged=True)
    assert driver._dismissed.wait(20)
    assert stopped == [signal.SIGTERM] * 2
    assert driver.merged
