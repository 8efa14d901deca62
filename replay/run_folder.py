# SPDX-License-Identifier: Apache-2.0
"""Create the private folder of a run and the databases for work in this folder.

The folder is complete only at the end of the run.
"""

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
        """Return the run as a readable folder."""
        return open_folder("run", self.path)

    def write(self, info: dict[str, Any]) -> None:
        """Write run.json."""
        write_json(self.path / "run.json", info)

    def clean(self) -> None:
        """Remove the temporary files of the replay."""
        with held():
            remove_folder(self.spill)


@contextmanager
def new_run(path: Path) -> Iterator[RunFolder]:
    """Create an empty run folder and lock it during the block.

    If the block fails before run.json is written, the folder is removed. Raises InputError if the path exists.
    """
    folder, made = RunFolder(path), False
    try:
        with held():  # a signal waits until the folder is made
            new_folder(path, folder.outcomes.name, folder.spill.name)
            made = True
        with hold(path):
            yield folder
    finally:
        if made and not (path / "run.json").exists():
            with held():
                remove_folder(path)


def open_storage(spill: Path, memory_limit: str = MEMORY_LIMIT) -> duckdb.DuckDBPyConnection:
    """Return a separate database for one of querytape's threads.

    The database uses one DuckDB thread, so sorting the plan does not disturb the timing. Arrow uses 64-bit offsets for
    statements.
    """
    return open_database(spill, memory_limit, threads=1, large_arrow=True)
