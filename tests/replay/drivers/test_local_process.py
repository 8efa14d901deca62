# SPDX-License-Identifier: Apache-2.0
"""Tests of the local driver program: it reports errors to its lead and ends together with its lead."""

import socket
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.drivers.channel import Channel, Message
from querytape.replay.drivers.local import Order, start_driver
from querytape.replay.options import ReplayOptions
from querytape.servers.target import parse_target

from tests.helpers.primes import prime_set

pytestmark = pytest.mark.slow

TARGET = parse_target("mysql://app@127.0.0.1:1/shop", environ={})
PATIENCE_S = 60


def messages(channel: Channel, last: str) -> list[Message]:
    """Return the messages of the driver up to a message of kind `last`."""
    found: list[Message] = []
    while not found or found[-1].kind != last:
        message = channel.receive(PATIENCE_S)
        assert message is not None
        found.append(message)
    return found


def test_unreachable_target_is_reported_to_the_lead(tmp_path: Path) -> None:
    """The process ends after the report."""
    order = Order(prime_set(tmp_path, 2), ("02.tape",), ReplayOptions(TARGET, tmp_path / "x.run", partial_ok=True), {})
    channel, process = start_driver(order)
    said: dict[str, Any] = {message.kind: message.values for message in messages(channel, "failed")}
    assert said["hello"]["host"] == socket.gethostname()
    assert said["hello"]["pid"] == process.pid
    assert said["failed"]["error"] == "target"
    assert "127.0.0.1:1" in said["failed"]["text"]
    assert process.wait(PATIENCE_S) == 1
    assert not (tmp_path / "x.run").exists()


def test_missing_tape_is_reported_to_the_lead(tmp_path: Path) -> None:
    """The missing tape is found before the replay begins."""
    order = Order(tmp_path / "no.set", ("02.tape",), ReplayOptions(TARGET, tmp_path / "x.run"), {})
    channel, process = start_driver(order)
    failed = messages(channel, "failed")[-1].values
    assert "no such tape" in failed["text"]
    assert process.wait(PATIENCE_S) == 1


def test_driver_ends_if_its_lead_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lead ends before it sends an order."""
    monkeypatch.setattr("pickle.dumps", lambda order: b"no order")
    order = Order(tmp_path / "no.set", ("02.tape",), ReplayOptions(TARGET, tmp_path / "x.run"), {})
    channel, process = start_driver(order)
    channel.close()
    assert process.wait(PATIENCE_S) != 0
