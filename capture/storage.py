# SPDX-License-Identifier: Apache-2.0
"""Open DuckDB for work on a tape, with bounded memory."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ..common.duck import open_database

MIN_MEMORY = 244 << 20
LARGE_EVENT = 64 << 10
MIN_MEMORY_LARGE = 768 << 20  # a row group is in memory whole, several times: of large events it has up to 96 MiB
MEMORY_PER_EVENT = 24  # copies of the largest event that DuckDB makes while it groups, sorts and writes


def memory_for(largest: int) -> str:
    """Return DuckDB's memory limit for work on events of which the largest has so many bytes of texts."""
    least = MIN_MEMORY if largest < LARGE_EVENT else MIN_MEMORY_LARGE
    return f"{max(least, MEMORY_PER_EVENT * largest) >> 20}MiB"


@contextmanager
def open_storage(folder: Path, threads: int | None = None, largest: int = 0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a DuckDB connection with bounded memory that spills into `folder`.

    `threads`: None = all cores. `largest`: bytes of the largest event's texts, 0 = small.
    """
    spill = folder / "spill"
    try:
        with open_database(spill, memory_for(largest), threads=threads) as con:
            yield con
    finally:
        shutil.rmtree(spill, ignore_errors=True)
