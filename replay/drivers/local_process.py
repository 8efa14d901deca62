# SPDX-License-Identifier: Apache-2.0
"""The program of a driver that the lead process starts.

The command is `python -m querytape.replay.drivers.local_process DESCRIPTOR`.
"""

import os
import socket
import sys

from ...common.errors import QuerytapeError
from ...common.leaving import leave_at_once, search_less
from ...common.signals import one_ending
from ...schemas import open_folder
from .channel import Channel
from .driver import Driver
from .local import take_order
from .shares import part_of


def main() -> None:
    """Take the order, replay, and report to the lead process. The exit code is 0 if the part was replayed."""
    status = 1
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    try:
        with one_ending():
            order = take_order(channel)
            driver = Driver(channel, about=order.about, alone=order.alone)
            driver.listen()
            channel.send("hello", host=socket.gethostname(), pid=os.getpid(), cores=len(os.sched_getaffinity(0)))
            try:
                part = part_of(open_folder("tape", order.tape), order.names)
            except QuerytapeError as error:
                driver.failed(error)
                raise
            driver.run(part, order.options, delivers=False)
            status = 0
    except (KeyboardInterrupt, QuerytapeError):
        pass  # the lead process already knows the error, or has ended
    except RuntimeError as error:
        if "interrupted" not in str(error).lower():  # DuckDB's error for a query that a signal has ended
            raise
    sys.exit(status)


if __name__ == "__main__":
    search_less()
    leave_at_once(main)
