# SPDX-License-Identifier: Apache-2.0
"""A driver that a user or a Kubernetes Job starts on any host.

The driver joins a lead process and replays its assigned tapes.
"""

import os
import socket
from dataclasses import dataclass

from ...common.errors import QuerytapeError
from ...common.files import remove_folder
from ...schemas import Folder, tape_id
from ..checks.preflight import Finding
from ..options import ReplayOptions
from ..replay_tape import opened
from ..summary import RunSummary
from ..watcher import Watcher
from .channel import Channel
from .driver import SILENT_S, Driver
from .member import Beginning
from .replacing import options_from
from .secured import join
from .shares import part_of, part_options, prints_of

WELCOME_S = 10.0


@dataclass(frozen=True)
class Ended:
    """The end of a driver.

    `kept`: why the driver's part stays on this host. None means that the lead process added the part to the run.
    """

    number: int
    summary: RunSummary
    kept: str | None


def replay_as_driver(
    tape: Folder | str | os.PathLike[str],
    options: ReplayOptions,
    address: tuple[str, int],
    key: bytes,
    watcher: Watcher | None = None,
) -> Ended:
    """Join the lead process at `address`, replay into `options.output` and deliver the part.

    Raises QuerytapeError if the lead process is unreachable, refuses this driver, or is lost before any statement was
    sent.
    """
    whole = opened(tape)
    channel = join(
        address,
        key,
        host=socket.gethostname(),
        pid=os.getpid(),
        cores=len(os.sched_getaffinity(0)),
        part=options.output.name,
        tape=tape_id(whole.info),
        prints=prints_of(options, key),
    )
    number, count, names, run, begins = _welcomed(channel, address)
    shown = watcher or Watcher()
    shown.finding(
        Finding(
            "info",
            f"joined the lead process at {address[0]}:{address[1]} as driver {number} of {count} with the tapes"
            f" {', '.join(names)}",
        )
    )
    driver = Driver(channel, SILENT_S, shown, {"driver": {"run": run, "number": number, "tapes": names}})
    driver.listen()
    mine = part_options(options, count, output=options.output)
    if begins is not None:
        mine = options_from(begins, mine)
    summary = driver.run(part_of(whole, names), mine, delivers=True)
    if driver.merged:
        remove_folder(options.output)
        return Ended(number, summary, None)
    return Ended(number, summary, driver.lead_lost or "the lead process did not add this driver's part to the run")


def _welcomed(channel: Channel, address: tuple[str, int]) -> tuple[int, int, list[str], str, Beginning | None]:
    """Return this driver's number, the number of drivers, its tapes, the run id, and where it begins.

    Raises QuerytapeError if the lead process refuses this driver.
    """
    where = f"{address[0]}:{address[1]}"
    message = channel.receive(WELCOME_S)
    if message is None or message.kind != "welcome":
        channel.close()
        why = "no reply" if message is None else str(message.values.get("text") or message.kind)[:500]
        raise QuerytapeError(f"{where}: the lead process refused this driver: {why}")
    values = message.values
    names = [str(name) for name in values["names"]]
    begins = None if values.get("begins") is None else Beginning(*map(int, values["begins"]))
    return int(values["number"]), int(values["count"]), names, str(values["run"]), begins
