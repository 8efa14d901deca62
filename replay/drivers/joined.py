# SPDX-License-Identifier: Apache-2.0
"""A driver that a user or a Kubernetes Job starts on any host.

The driver joins a lead process and replays its assigned tapes.
"""

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ...common.errors import FolderError, QuerytapeError
from ...common.files import refuse_existing, remove_folder
from ...common.staged import shown_path
from ...schemas import Folder
from ...schemas.tape_set import TapeSet
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
from .shares import part_of, part_options, prints_of, share_id, tapes_of

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
    fetch: Callable[[Sequence[str]], None] | None = None,
) -> Ended:
    """Join the lead process at `address`, replay into `options.output` and deliver the part.

    `fetch`: copies the files of some tapes of the set, if the set still lacks them.

    Raises QuerytapeError if the lead process is unreachable, refuses this driver, or is lost before any statement was
    sent.
    """
    whole = opened(tape, has_parts=fetch is None)
    refuse_existing(options.output)
    channel = join(
        address,
        key,
        host=socket.gethostname(),
        pid=os.getpid(),
        cores=len(os.sched_getaffinity(0)),
        part=options.output.name,
        tape=share_id(whole),
        prints=prints_of(options, key),
    )
    number, count, names, run, begins = _welcomed(channel, address)
    shown = watcher or Watcher()
    shown.finding(
        Finding(
            "info",
            f"joined the lead process at {address[0]}:{address[1]} as driver {number}"
            f" {f'of {count}' if begins is None else 'in place of a lost driver'} with the tapes {', '.join(names)}",
        )
    )
    driver = Driver(channel, SILENT_S, shown, {"driver": {"run": run, "number": number, "tapes": names}})
    driver.listen()
    mine = part_options(options, count, output=options.output)
    if begins is not None:
        mine = options_from(begins, mine)
    part = part_of(whole, names)
    if fetch is not None:
        driver.prepare(partial(fetch_checked, part, names, fetch))
    try:
        summary = driver.run(part, mine, delivers=True)
    except KeyboardInterrupt:
        if driver.stopped_because is None:
            raise
        raise QuerytapeError(f"nothing was sent: {driver.stopped_because}") from None
    if not driver.begun and not summary.info["accounting"]["executed"]:
        remove_folder(options.output)
        raise QuerytapeError(f"nothing was sent: {driver.stopped_because or 'this driver was stopped'}")
    if driver.merged:
        remove_folder(options.output)
        return Ended(number, summary, None)
    return Ended(number, summary, driver.lead_lost or "the lead process did not add this driver's part to the run")


def fetch_checked(part: Folder, names: Sequence[str], fetch: Callable[[Sequence[str]], None]) -> None:
    """Copy the files of some tapes, and check these tapes. Raises QuerytapeError."""
    if isinstance(part, TapeSet):
        fetch(names)
    try:
        for tape in tapes_of(part):
            tape.check()
    except FolderError as error:
        raise FolderError(str(error).replace(str(part.path), shown_path(part.path))) from error


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
