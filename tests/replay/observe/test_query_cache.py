# SPDX-License-Identifier: Apache-2.0
"""The counters of a query cache: asked of a server that has one."""

from typing import Any

import pytest
from querytape.common.errors import TargetError
from querytape.replay.observe.query_cache import ASK, cache_counters


class Server:
    """A target, its connection and its cursor, that answers with rows."""

    open = True

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.asked: list[str] = []

    def connect(self, timeout_s: int) -> "Server":
        """Be the connection, or refuse."""
        if self.rows is None:
            raise TargetError("gone")
        return self

    def cursor(self) -> "Server":
        """Be the cursor."""
        return self

    def __enter__(self) -> "Server":
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


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((("Qcache_hits", "5"), ("Com_select", "7")), {"qcache_hits": 5, "com_select": 7}),
        ((("Qcache_hits", "x"), ("Com_select", "7")), None),
        ((("Com_select", "7"),), None),
        ((), None),
        (None, None),
    ],
)
def test_counters(rows: Any, expected: dict[str, int] | None) -> None:
    """Numbers by name; none where there is no cache, no number or no server."""
    server: Any = Server(rows)
    assert cache_counters(server, 5) == expected
    assert server.asked == ([] if rows is None else [ASK])
