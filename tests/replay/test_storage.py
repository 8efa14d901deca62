# SPDX-License-Identifier: Apache-2.0
"""DuckDB as the replay opens it."""

from pathlib import Path

from querytape.replay.storage import open_storage


def test_one_thread_and_bounded_memory(tmp_path: Path) -> None:
    """Sorting the plan must not disturb the timing, and spills where the run is."""
    with open_storage(tmp_path / "spill", "64MB") as con:
        settings = con.execute(
            "SELECT current_setting('threads'), current_setting('memory_limit'), current_setting('temp_directory'),"
            " current_setting('arrow_large_buffer_size')"
        ).fetchall()[0]
    assert settings[0] == 1
    assert settings[1] == "61.0 MiB"
    assert settings[2] == str(tmp_path / "spill")
    assert settings[3] is True
