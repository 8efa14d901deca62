# SPDX-License-Identifier: Apache-2.0
"""Small logs in the format of a real server."""

from pathlib import Path


def write_mariadb(path: Path, rows: list[tuple[int, int, float, str]]) -> Path:
    """Write a MariaDB slow log from (second, thread id, duration, statement)."""
    path.write_text("".join(mariadb_entry(*row) for row in rows))
    return path


def mariadb_entry(second: int, thread: int, duration: float, statement: str, schema: str = "shop") -> str:
    """Return an entry of a MariaDB slow log."""
    return (
        f"# User@Host: app[app] @ localhost []\n# Thread_id: {thread}  Schema: {schema}  QC_hit: No\n"
        f"# Query_time: {duration:.6f}  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n"
        f"SET timestamp={second};\n{statement};\n"
    )
