# SPDX-License-Identifier: Apache-2.0
"""DuckDB databases for work on a tape. Their memory is limited, and they leave no files."""

from pathlib import Path

from querytape.capture.storage import LARGE_EVENT, MIN_MEMORY, MIN_MEMORY_LARGE, memory_for, open_storage


def test_memory_limit_grows_with_the_largest_event() -> None:
    """A tape of small events uses the minimum. Large events need memory for their row groups and for DuckDB's copies of
    the largest event.
    """
    assert memory_for(0) == memory_for(1000) == f"{MIN_MEMORY >> 20}MiB"
    assert memory_for(LARGE_EVENT - 1) == memory_for(0)
    assert memory_for(LARGE_EVENT) == memory_for(12 << 20) == f"{MIN_MEMORY_LARGE >> 20}MiB"
    assert memory_for(100 << 20) == "2400MiB"


def test_database_leaves_no_files(tmp_path: Path) -> None:
    """The spill folder is removed after use. DuckDB uses the requested number of threads."""
    with open_storage(tmp_path, threads=1) as con:
        assert con.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
    assert list(tmp_path.iterdir()) == []
