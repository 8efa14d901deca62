# SPDX-License-Identifier: Apache-2.0
"""Start drivers on the machine of the lead process.

Each driver is a separate process with a private socket to the lead process. Options and passwords go only through this
socket.
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
    """The work of a driver: a set, the driver's tapes in this set, and the options.

    - `about`: what run.json says about the run that the part belongs to.
    - `alone`: whether no other driver uses the same target.
    """

    tape: Path
    names: tuple[str, ...]
    options: ReplayOptions
    about: dict[str, Any]
    alone: bool = False


def start_driver(order: Order) -> tuple[Channel, subprocess.Popen[bytes]]:
    """Start a driver process.

    The driver does not get Ctrl-C from the terminal, because the lead process passes it on. The driver has a process
    group of its own for this, and not a session of its own: Linux schedules each session as a group (sched_autogroup).
    On shared cores, drivers in several sessions need a third more CPU per event.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-P", "-m", "querytape.replay.drivers.local_process", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], process_group=0, stdin=subprocess.DEVNULL)
    channel = Channel(ours)
    channel.send("order", pickle.dumps(order))
    return channel, process


def take_order(channel: Channel) -> Order:
    """Return the order that the parent process sends. Only the parent has the other end of the inherited socket."""
    message = channel.receive(ORDER_S)
    if message is None or message.kind != "order":
        raise SystemExit("no order came")
    order = pickle.loads(message.body)
    assert isinstance(order, Order)
    return order
