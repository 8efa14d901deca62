# SPDX-License-Identifier: Apache-2.0
"""Read the session properties that a source reported in addition to events, and limit their size on disk.

facts/part-N.parquet of parts dropped by --keep -> facts/part--dropped.parquet (one row per session)
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ..common.duck import load_sql, sql_text, write_parquet

DROPPED = "part--dropped.parquet"  # sorts before all parts, so later files complete the rows of this file
GATHERED_AT_ONCE = 200
MAX_SESSIONS = 100_000


def load_facts(con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Create view `telling` (facts.sql) from files in the order in which they were written."""
    con.execute(load_sql(__package__, "facts.sql"))
    for number, part in enumerate(files):
        con.execute(
            "INSERT INTO facts BY NAME SELECT * EXCLUDE (file_row_number),"
            " ?::BIGINT * 1000000000 + file_row_number AS told"
            f" FROM read_parquet({sql_text(part)}, file_row_number = true)",
            [number],
        )


class FactsRing:
    """The session property files of a tape with --keep. Files of dropped parts are merged into one file.

    The merged file omits sessions that have disconnected. Of the other sessions, it keeps at most the latest `most`.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        folder: Path,
        at_once: int = GATHERED_AT_ONCE,
        most: int = MAX_SESSIONS,
    ) -> None:
        self._con = con
        self._folder = folder
        self._at_once = at_once
        self._most = most
        self._names: list[str] = []

    def told(self, name: str) -> None:
        """Register the file of the latest part."""
        self._names.append(name)

    def drop_before(self, first: str) -> None:
        """Merge the files of parts that are older than part `first`. Do nothing if there are too few files.

        `first` is the oldest kept part.
        """
        # Keep one more file. A source may report the end of a session one part before the quit event.
        old = [name for name in self._names if name < first][:-1]
        if len(old) < self._at_once:
            return
        files = [self._folder / name for name in old]
        gathered = self._folder / DROPPED
        load_facts(self._con, [*([gathered] if gathered.exists() else []), *files])
        try:
            latest = f"FROM telling WHERE open_at_end IS DISTINCT FROM false ORDER BY told DESC LIMIT {self._most}"
            write_parquet(self._con, f"SELECT * EXCLUDE (told) FROM ({latest}) ORDER BY told", gathered)
        finally:
            self._con.execute("DROP VIEW telling")
            self._con.execute("DROP TABLE facts")
        self._names = self._names[len(old) :]
        for file in files:
            file.unlink()
