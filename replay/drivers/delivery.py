# SPDX-License-Identifier: Apache-2.0
"""Send the files of a driver's part to the lead process.

Each file of outcomes is sent when it is complete. All other files are sent at the end. A driver on the machine of the
lead process writes into the lead's folder and sends no files.
"""

import re
import threading
from pathlib import Path

from ...common.errors import InputError
from ...common.files import publish
from .channel import Channel, ChannelClosed, Message

PIECE_BYTES = 1 << 20
EVERY_S = 1.0
_NAME = re.compile(r"(outcomes/part-[a-z0-9-]{1,40}|sessions|ticks)\.parquet", re.ASCII)


class Sender:
    """The driver's side: sends the new files of a part in its own thread."""

    def __init__(self, channel: Channel, part: Path) -> None:
        self._channel, self._part = channel, part
        self._sent: set[str] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)

    def start(self) -> None:
        """Start the thread that sends each complete file of outcomes."""
        self._thread.start()

    def finish(self) -> None:
        """Send the remaining files. Raises ChannelClosed."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self.send_new()
        for name in ("sessions.parquet", "ticks.parquet"):
            if (self._part / name).exists():
                self._send(name)

    def _run(self) -> None:
        while not self._end.wait(EVERY_S):
            try:
                self.send_new()
            except (ChannelClosed, OSError):
                return

    def send_new(self) -> None:
        """Send the files of outcomes that were not sent yet. Raises ChannelClosed."""
        for path in sorted((self._part / "outcomes").glob("part-*.parquet")):
            name = f"outcomes/{path.name}"
            if _NAME.fullmatch(name) and name not in self._sent:
                self._send(name)
                self._sent.add(name)

    def _send(self, name: str) -> None:
        with (self._part / name).open("rb") as file:
            size = (self._part / name).stat().st_size
            at = 0
            while True:
                body = file.read(PIECE_BYTES)
                self._channel.send("file", body, name=name, at=at, size=size)
                at += len(body)
                if at >= size or not body:
                    return


class Receiver:
    """The lead's side: writes received files into the driver's part.

    A file gets its final name when the file is complete.
    """

    def __init__(self, part: Path) -> None:
        self._part = part

    def take(self, message: Message) -> None:
        """Write one piece of a file. Raises InputError if the piece is not the next piece of one of the run's files."""
        name, at, size = str(message.values["name"]), int(message.values["at"]), int(message.values["size"])
        if not _NAME.fullmatch(name):
            raise InputError(f"{name[:80]!r} is not a valid file name for a run")
        final = self._part / name
        partial = final.with_name(final.name + ".partial")
        (self._part / "outcomes").mkdir(parents=True, exist_ok=True)
        there = partial.stat().st_size if at and partial.exists() else 0
        if at != there:
            raise InputError(f"{name}: expected data from byte {there:,}, received data from byte {at:,}")
        with partial.open("ab" if at else "wb") as file:
            file.write(message.body)
        if at + len(message.body) >= size:
            with publish(final) as temporary:
                partial.replace(temporary)
