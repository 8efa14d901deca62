# SPDX-License-Identifier: Apache-2.0
"""What a source told of sessions beyond their events, in the files of folder `facts`: read them, and bound them.

facts/part-N.parquet of parts that --keep dropped  ->  facts/part--dropped.parquet, one row a session
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ..common.duck import load_sql, sql_text, write_parquet

DROPPED = "part--dropped.parquet"  # sorts before all parts: what is told later completes it
GATHERED_AT_ONCE = 200
MAX_SESSIONS = 100_000


def load_facts(con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Make view `telling` (facts.sql) of files, which are in the order in which they were told."""
    con.execute(load_sql(__package__, "facts.sql"))
    for number, part in enumerate(files):
        con.execute(
            "INSERT INTO facts BY NAME SELECT * EXCLUDE (file_row_number),"
            " ?::BIGINT * 1000000000 + file_row_number AS told"
            f" FROM read_parquet({sql_text(part)}, file_row_number = true)",
            [number],
        )


class FactsRing:
    """The files of facts of a tape whose oldest parts are dropped: theirs become one, of the sessions that may go on.

    A session that quit is gone with its last part. Of those that never did, the latest `most` are kept.
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
        """Take note of a file of the latest part."""
        self._names.append(name)

    def drop_before(self, first: str) -> None:
        """Gather the files of parts before `first`, the first that is kept, where there are enough of them."""
        # What is told of a quit may be a part ahead of its event.
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
