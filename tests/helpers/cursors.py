# SPDX-License-Identifier: Apache-2.0
"""A fake target that is its own connection and cursor.

Tests use this target to check queries and the use of their results.
"""

from typing import Any, Self


class MadeTarget:
    """A target that acts as its own connection and cursor. `execute` records the queries, and `fetchall` returns
    `rows`.
    """

    open, name = True, "db:3306"

    def __init__(self, rows: Any = ()) -> None:
        self.rows = rows
        self.asked: list[str] = []

    def connect(self, timeout_s: int = 0) -> Self:
        """Return the target itself as the connection."""
        return self

    def cursor(self) -> Self:
        """Return the target itself as the cursor."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def execute(self, query: str) -> None:
        """Record the query."""
        self.asked.append(query)

    def fetchall(self) -> Any:
        """Return the configured rows."""
        return self.rows

    def close(self) -> None:
        """Do nothing."""
