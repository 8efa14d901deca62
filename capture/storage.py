# SPDX-License-Identifier: Apache-2.0
"""Open DuckDB with bounded memory for work on a tape."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ..common.duck import open_database

MIN_MEMORY = 244 << 20
LARGE_EVENT = 64 << 10
MIN_MEMORY_LARGE = 768 << 20  # memory for several row groups of up to 96 MiB (large events)
MEMORY_PER_EVENT = 24  # number of copies of the largest event that DuckDB makes to group, sort and write the event


def memory_for(largest: int) -> str:
    """Return the DuckDB memory limit for events. `largest`: text bytes of the largest event."""
    least = MIN_MEMORY if largest < LARGE_EVENT else MIN_MEMORY_LARGE
    return f"{max(least, MEMORY_PER_EVENT * largest) >> 20}MiB"


@contextmanager
def open_storage(folder: Path, threads: int | None = None, largest: int = 0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a DuckDB connection with bounded memory. DuckDB moves data that does not fit into `folder`.

    `threads`: None means all cores. `largest`: text bytes of the largest event. 0 means that all events are small.
    """
    spill = folder / "spill"
    try:
        with open_database(spill, memory_for(largest), threads=threads) as con:
            yield con
    finally:
        shutil.rmtree(spill, ignore_errors=True)
