# SPDX-License-Identifier: Apache-2.0
"""Temporary folders that are always removed, even if a signal arrives at any moment."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .signals import held

PREFIX = "querytape-"


class TemporaryFolder:
    """A temporary folder. No signal interrupts its creation or its removal. `name` is the path of the folder.

    `parent`: the folder in which it is created. None means TMPDIR.
    """

    def __init__(self, parent: Path | None = None) -> None:
        with held():
            self._folder = tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent)
        self.name = self._folder.name

    def remove(self) -> None:
        """Remove the folder with all its contents."""
        with held():
            self._folder.cleanup()


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[str]:
    """Yield the path of a folder that is removed when the block ends. `parent`: see TemporaryFolder."""
    folder = TemporaryFolder(parent)
    try:
        yield folder.name
    finally:
        folder.remove()
