# SPDX-License-Identifier: Apache-2.0
"""Temporary folders that are gone at the end, whatever moment a signal comes at."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from .signals import held

PREFIX = "querytape-"


class TemporaryFolder:
    """A folder of `name` until `remove`; no signal unwinds the program while it is made or removed."""

    def __init__(self) -> None:
        with held():
            self._folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        self.name = self._folder.name

    def remove(self) -> None:
        """Remove it with all that is in it."""
        with held():
            self._folder.cleanup()


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Yield the name of a folder that goes with the block."""
    folder = TemporaryFolder()
    try:
        yield folder.name
    finally:
        folder.remove()
