# SPDX-License-Identifier: Apache-2.0
"""Makes one run folder of the parts of all drivers: each file of outcomes is moved, the sessions are put together."""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ...common.duck import sql_files, write_parquet
from ...common.files import remove_folder
from .member import Member

PARTS = "drivers"  # the folder of the parts, inside the run's


def part_path(run: Path, number: int) -> Path:
    """Return where a driver's part is, while the run goes on."""
    return run / PARTS / f"{number:02d}"


def merge(run: Path, members: Sequence[Member], con: duckdb.DuckDBPyConnection) -> None:
    """Move what the drivers wrote into the run's own tables, and remove their parts."""
    for member in members:
        for file in sorted((member.part / "outcomes").glob("part-*.parquet")):
            name = file.name.removeprefix("part-")
            file.rename(run / "outcomes" / f"part-d{member.number:02d}-{name}")
    sessions = [file for member in members if (file := member.part / "sessions.parquet").exists()]
    if sessions:
        listed = sql_files(sessions)
        write_parquet(con, f"FROM read_parquet({listed}) ORDER BY session, clone", run / "sessions.parquet")
    remove_folder(run / PARTS)
