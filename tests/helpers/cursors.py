# SPDX-License-Identifier: Apache-2.0
"""A made target that is its own connection and cursor: for tests of what is asked and how answers are taken."""

from typing import Any, Self


class MadeTarget:
    """A target whose connection and cursor it is itself; `execute` keeps what was asked, `fetchall` gives `rows`."""

    open, name = True, "db:3306"

    def __init__(self, rows: Any = ()) -> None:
        self.rows = rows
        self.asked: list[str] = []

    def connect(self, timeout_s: int = 0) -> Self:
        """Be the connection."""
        return self

    def cursor(self) -> Self:
        """Be the cursor."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def execute(self, query: str) -> None:
        """Keep what was asked."""
        self.asked.append(query)

    def fetchall(self) -> Any:
        """Return the rows."""
        return self.rows

    def close(self) -> None:
        """End."""
