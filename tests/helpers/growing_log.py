# SPDX-License-Identifier: Apache-2.0
"""A log that a server writes during a read. It grows in pieces and is rotated in all common ways."""

import gzip
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 90
PAUSE_S = 0.005


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true. Fails after a timeout."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(PAUSE_S)


class GrowingLog:
    """A log writer that appends like a server and rotates the log like an administrator.

    `turns` counts the rotations. A follower must have reached the current file before the next rotation.
    """

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.turns = 0
        self._chance = chance
        self._out = path.open("ab", buffering=0)

    def write(self, data: bytes) -> None:
        """Append data in pieces of random sizes."""
        while data:
            size = self._chance.choice((1, 7, 60, 300, 5000))
            self._out.write(data[:size])
            data = data[size:]

    def rename(self, rest: bytes) -> None:
        """Rename the log. The server writes `rest` to the old file before it opens the new file."""
        self.path.rename(self._old())
        self.write(rest)
        self._begin()

    def rename_and_pack(self, rest: bytes) -> None:
        """Rename the log and create an empty one. The server writes `rest` to the old file, which is then packed and
        removed.
        """
        old = self._old()
        self.path.rename(old)
        self.path.touch()
        self.write(rest)
        self._begin()
        _pack(old)

    def remove(self, rest: bytes) -> None:
        """Remove the log. The server writes `rest` to the removed file, then creates a new file with the same name."""
        self.turns += 1
        self.path.unlink()
        self.write(rest)
        self._begin()

    def copy_and_truncate(self, rest: bytes) -> None:
        """Copy the log and truncate it. No byte is written between the two steps."""
        shutil.copyfile(self.path, self._old())
        self._truncate()
        self.write(rest)

    def pack_and_truncate(self, rest: bytes) -> None:
        """Copy the log, replace the copy by a compressed file, and truncate the log."""
        old = self._old()
        shutil.copyfile(self.path, old)
        _pack(old)
        self._truncate()
        self.write(rest)

    def close(self) -> None:
        """Close the log, as a server does when it stops."""
        self._out.close()

    def _old(self) -> Path:
        self.turns += 1
        return self.path.with_name(f"{self.path.name}.{self.turns}")

    def _begin(self) -> None:
        self._out.close()
        self._out = self.path.open("ab", buffering=0)

    def _truncate(self) -> None:
        os.truncate(self.path, 0)


def _pack(path: Path) -> None:
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    path.unlink()
