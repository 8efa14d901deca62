# SPDX-License-Identifier: Apache-2.0
"""Temporary folders that are always removed, even if a signal arrives at any moment."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError
from .signals import held

PREFIX = "querytape-"


def check_temporary() -> None:
    """Raise InputError if no file can be written in TMPDIR. Python would use another folder without a word."""
    if given := os.environ.get("TMPDIR"):
        try:
            with held(), tempfile.TemporaryFile(dir=given) as file:
                file.write(b"x")
                file.flush()
        except OSError as error:
            raise InputError(f"TMPDIR={given}: {error.strerror}. Set TMPDIR to another folder, or unset it") from error


class TemporaryFolder:
    """A temporary folder. No signal interrupts its creation or its removal. `name` is the path of the folder.

    `parent`: the folder in which it is created. None means TMPDIR.
    """

    def __init__(self, parent: Path | None = None) -> None:
        if parent is None:
            check_temporary()
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
