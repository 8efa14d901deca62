# SPDX-License-Identifier: Apache-2.0
"""Starts drivers on the lead's machine: processes of their own, each with a socket to the lead that only they have.

What a driver needs (options, passwords among them) goes through that socket, and nowhere else.
"""

import pickle
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..options import ReplayOptions
from .channel import Channel

ORDER_S = 60.0


@dataclass(frozen=True)
class Order:
    """What a driver is to replay: a set, which tapes of it, and how; `about`: which run it is a part of."""

    tape: Path
    names: tuple[str, ...]
    options: ReplayOptions
    about: dict[str, Any]


def start_driver(order: Order) -> tuple[Channel, subprocess.Popen[bytes]]:
    """Start a driver; Ctrl-C at the terminal is the lead's, who tells it."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-P", "-m", "querytape.replay.drivers.local_process", str(theirs.fileno())]
        process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL
        )
    channel = Channel(ours)
    channel.send("order", pickle.dumps(order))
    return channel, process


def take_order(channel: Channel) -> Order:
    """Return what this driver's parent wants of it; nobody else has the other end of an inherited socket."""
    message = channel.receive(ORDER_S)
    if message is None or message.kind != "order":
        raise SystemExit("no order came")
    order = pickle.loads(message.body)
    assert isinstance(order, Order)
    return order
