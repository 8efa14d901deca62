# SPDX-License-Identifier: Apache-2.0
"""Makes the folder of a run, private and complete only at the end, and the databases that work in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import open_database
from ..common.files import hold, new_folder, remove_folder, write_json
from ..common.signals import held
from ..schemas import Folder, open_folder

MEMORY_LIMIT = "256MB"


class RunFolder:
    """The paths of a run that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes = path / "outcomes"
        self.ticks = path / "ticks"
        self.spill = path / "spill"

    def open(self) -> Folder:
        """Return it as a folder that can be read."""
        return open_folder("run", self.path)

    def write(self, info: dict[str, Any]) -> None:
        """Write run.json."""
        write_json(self.path / "run.json", info)

    def clean(self) -> None:
        """Remove the files that only the replay itself needed."""
        with held():
            remove_folder(self.spill)


@contextmanager
def new_run(path: Path) -> Iterator[RunFolder]:
    """Make an empty run folder, held while the block lives; where that fails before run.json, the folder is removed.

    Raises InputError where something of that name is there.
    """
    folder, made = RunFolder(path), False
    try:
        with held():  # a signal finds it made or not made
            new_folder(path, folder.outcomes.name, folder.spill.name)
            made = True
        with hold(path):
            yield folder
    finally:
        if made and not (path / "run.json").exists():
            with held():
                remove_folder(path)


def open_storage(spill: Path, memory_limit: str = MEMORY_LIMIT) -> duckdb.DuckDBPyConnection:
    """Return a database of its own for one thread of ours.

    One DuckDB thread, so that sorting the plan does not disturb the timing; 64-bit offsets for statements in Arrow.
    """
    return open_database(spill, memory_limit, threads=1, large_arrow=True)
