# SPDX-License-Identifier: Apache-2.0
"""Tests of the start of a local driver. The driver receives its order through a private socket, so no argument contains
a password.
"""

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.replay.drivers.channel import Channel
from querytape.replay.drivers.local import Order, start_driver, take_order
from querytape.replay.options import ReplayOptions
from querytape.servers.target import parse_target

TARGET = replace(parse_target("mysql://app@127.0.0.1:1/shop", environ={}), password="hidden-from-others")


def test_password_is_not_in_arguments_or_environment(tmp_path: Path) -> None:
    """The driver has its own process group, so that Ctrl-C at the terminal reaches only the lead. It stays in the session
    of the lead, because the scheduler shares the cores between sessions.
    """
    order = Order(tmp_path / "no.set", ("01.tape",), ReplayOptions(TARGET, tmp_path / "x.run"), {})
    channel, process = start_driver(order)
    try:
        for name in ("cmdline", "environ"):
            assert b"hidden-from-others" not in Path(f"/proc/{process.pid}/{name}").read_bytes()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        assert (int(fields[2]), int(fields[3])) == (process.pid, os.getsid(0))
    finally:
        channel.close()
        process.kill()
        process.wait()


def test_order_of_the_lead_arrives_unchanged() -> None:
    """A process exits if its first message is not an order."""
    order = Order(
        Path("a.set"), ("01.tape", "02.tape"), ReplayOptions(TARGET, Path("x.run"), init=("SET @a = 1",)), {"n": 1}
    )
    import pickle

    one, other = map(Channel, socket.socketpair())
    one.send("order", pickle.dumps(order))
    assert take_order(other) == order
    one.send("span")
    with pytest.raises(SystemExit):
        take_order(other)
