# SPDX-License-Identifier: Apache-2.0
"""Keeps the readers of viewed runs, and sends requests to a run: pause, resume, change the speed, stop."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

from ..common.errors import InputError
from ..common.text import printable
from ..replay.observe.control_files import PAUSE, request_speed, request_stop
from .live import TickReader, state_of
from .shelf import section

MAX_READERS = 16


class Watched:
    """The runs that users view: the reader of each run, and its speed before a pause. At most MAX_READERS runs."""

    def __init__(self) -> None:
        self._readers: OrderedDict[Path, TickReader] = OrderedDict()
        self.before: dict[Path, str] = {}

    def reader(self, run: Path) -> TickReader:
        """Return the tick reader of a run."""
        reader = self._readers.setdefault(run, TickReader(run))
        self._readers.move_to_end(run)
        while len(self._readers) > MAX_READERS:
            gone, _ = self._readers.popitem(last=False)
            self.before.pop(gone, None)
        return reader


def ask_of(watched: Watched, run: Path, info: dict[str, Any], act: str, factor: str) -> str:
    """Send a request to a run. Return a text about the request. Raises InputError if the request is not possible."""
    state = state_of(run, info, watched.reader(run).read())
    if not state.under_way:
        raise InputError("the replay has ended")
    if act == "stop":
        times = request_stop(run)
        return "stopping: waiting for the last replies" if times == 1 else "stopping: closing the connections"
    if act == "pause":
        if state.word != "paused":
            watched.before[run] = state.speed
        request_speed(run, PAUSE)
        return "paused"
    if act == "resume":
        factor = watched.before.pop(run, "") or str(section(info, "parameters").get("speed") or "1")
    elif act != "speed":
        raise InputError("do: expected pause, resume, speed or stop")
    request_speed(run, factor[:40])
    return f"speed {printable(factor, 40)}"
