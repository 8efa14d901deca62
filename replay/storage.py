# SPDX-License-Identifier: Apache-2.0
"""Opens DuckDB for the replay: bounded memory, one thread, spilling into the run's own folder."""

from pathlib import Path

import duckdb

from ..common.duck import open_database

MEMORY_LIMIT = "256MB"


def open_storage(spill: Path, memory_limit: str = MEMORY_LIMIT) -> duckdb.DuckDBPyConnection:
    """Return a database of its own for one thread of ours.

    One DuckDB thread, so that sorting the plan does not disturb the timing; 64-bit offsets for statements in Arrow.
    """
    return open_database(spill, memory_limit, threads=1, large_arrow=True)
