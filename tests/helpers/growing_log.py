# SPDX-License-Identifier: Apache-2.0
"""A log that a server writes while it is read: in pieces, and turned over in all the ways there are."""

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
    """Wait until something is so; fail where it never is."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(PAUSE_S)


class GrowingLog:
    """Writes to a log as a server does, and turns it over as people do.

    `turns` counts how often; a reader that follows must have come to the present file before it is turned over again.
    """

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.turns = 0
        self._chance = chance
        self._out = path.open("ab", buffering=0)

    def write(self, data: bytes) -> None:
        """Write in pieces of random sizes."""
        while data:
            size = self._chance.choice((1, 7, 60, 300, 5000))
            self._out.write(data[:size])
            data = data[size:]

    def rename(self, rest: bytes) -> None:
        """Rename it; the server writes `rest` into the old file, and only then opens the new one."""
        self.path.rename(self._old())
        self.write(rest)
        self._begin()

    def rename_and_pack(self, rest: bytes) -> None:
        """Rename it, create an empty one; the server writes on into the old one, which is packed and removed."""
        old = self._old()
        self.path.rename(old)
        self.path.touch()
        self.write(rest)
        self._begin()
        _pack(old)

    def remove(self, rest: bytes) -> None:
        """Remove it; the server writes on into the removed one, then begins another of the same name."""
        self.turns += 1
        self.path.unlink()
        self.write(rest)
        self._begin()

    def copy_and_truncate(self, rest: bytes) -> None:
        """Copy it and truncate it, with no byte between the two."""
        shutil.copyfile(self.path, self._old())
        self._truncate()
        self.write(rest)

    def pack_and_truncate(self, rest: bytes) -> None:
        """The same, but only a packed copy is left."""
        old = self._old()
        shutil.copyfile(self.path, old)
        _pack(old)
        self._truncate()
        self.write(rest)

    def close(self) -> None:
        """The server ends."""
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
