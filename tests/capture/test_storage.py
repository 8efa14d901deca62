# SPDX-License-Identifier: Apache-2.0
"""DuckDB for work on a tape: bounded, and nothing of it stays."""

from pathlib import Path

from querytape.capture.storage import LARGE_EVENT, MIN_MEMORY, MIN_MEMORY_LARGE, memory_for, open_storage


def test_memory_grows_with_the_largest_event() -> None:
    """Small events have the least; large ones have room for their row groups, and for DuckDB's copies of the largest."""
    assert memory_for(0) == memory_for(1000) == f"{MIN_MEMORY >> 20}MiB"
    assert memory_for(LARGE_EVENT - 1) == memory_for(0)
    assert memory_for(LARGE_EVENT) == memory_for(12 << 20) == f"{MIN_MEMORY_LARGE >> 20}MiB"
    assert memory_for(100 << 20) == "2400MiB"


def test_nothing_is_left(tmp_path: Path) -> None:
    """The folder has no file of DuckDB's afterwards; threads are as asked."""
    with open_storage(tmp_path, threads=1) as con:
        assert con.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
    assert list(tmp_path.iterdir()) == []
