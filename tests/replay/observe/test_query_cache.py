# SPDX-License-Identifier: Apache-2.0
"""The counters of a query cache: asked of a server that has one."""

from typing import Any, Self

import pytest
from querytape.common.errors import TargetError
from querytape.replay.observe.query_cache import COUNTERS, cache_counters
from querytape.replay.observe.server_counters import question

from ...helpers.cursors import MadeTarget


class Server(MadeTarget):
    """A target that answers with rows, or refuses where there are none."""

    def connect(self, timeout_s: int = 0) -> Self:
        """Be the connection, or refuse."""
        if self.rows is None:
            raise TargetError("gone")
        return self


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
    assert server.asked == ([] if rows is None else [question(COUNTERS)])
