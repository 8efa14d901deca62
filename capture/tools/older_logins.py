# SPDX-License-Identifier: Apache-2.0
"""Provide logins for the small tapes of a follower. Each small tape gets all logins of its sessions, even old logins.

The login files of the latest parts are linked unchanged. Older files are merged into one file, a few hundred at a time.
A small tape gets only the rows of its own sessions from the merged file.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ...common.duck import sql_files, sql_text, write_parquet
from .snapshot import take

LATEST_PARTS = 200
OLDER = "part--older.parquet"  # sorts before all parts, so later files complete the rows of this file


class OlderLogins:
    """The login files in folder `facts`, ordered by part name. `gathered`: the merged file of older logins."""

    def __init__(self, facts: Path, gathered: Path, latest_parts: int = LATEST_PARTS) -> None:
        self._facts = facts
        self._gathered = gathered
        self._latest_parts = latest_parts
        self._until = ""  # name of the last part in the merged file

    def give(self, con: duckdb.DuckDBPyConnection, small: Path, events: Sequence[Path]) -> None:
        """Write the logins of the sessions in these parts into the folder `facts` of a small tape."""
        last = events[-1].name
        told = [file for file in sorted(self._facts.glob("part-*.parquet")) if self._until < file.name <= last]
        latest = max(self._latest_parts, len(events))
        if len(told) >= 2 * latest:
            self._gather(con, told[:-latest])
            told = told[-latest:]
        for file in told:
            take(file, small / "facts" / file.name)
        if self._until:
            mine = f"SELECT session FROM read_parquet({sql_files(list(events))})"
            gathered = f"SELECT * EXCLUDE (told) FROM read_parquet({sql_text(self._gathered)})"
            write_parquet(con, f"{gathered} WHERE session IN ({mine}) ORDER BY told", small / "facts" / OLDER)

    def _gather(self, con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
        """Add login files to the merged file."""
        fresh = (
            "SELECT * EXCLUDE (filename, file_row_number),"
            " parse_filename(filename) || lpad(file_row_number::VARCHAR, 12, '0') AS told"
            f" FROM read_parquet({sql_files(list(files))}, filename = true, file_row_number = true,"
            " union_by_name = true)"
        )
        before = f"SELECT * FROM read_parquet({sql_text(self._gathered)}) UNION ALL BY NAME " if self._until else ""
        new = self._gathered.with_suffix(".new")
        write_parquet(con, before + fresh, new)
        new.replace(self._gathered)
        self._until = files[-1].name
