# SPDX-License-Identifier: Apache-2.0
"""Temporary folders that are always removed, even if a signal arrives at any moment."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from .signals import held

PREFIX = "querytape-"


class TemporaryFolder:
    """A temporary folder. No signal interrupts its creation or its removal. `name` is the path of the folder."""

    def __init__(self) -> None:
        with held():
            self._folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        self.name = self._folder.name

    def remove(self) -> None:
        """Remove the folder with all its contents."""
        with held():
            self._folder.cleanup()


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Yield the path of a folder that is removed when the block ends."""
    folder = TemporaryFolder()
    try:
        yield folder.name
    finally:
        folder.remove()
