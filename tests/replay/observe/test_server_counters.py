# SPDX-License-Identifier: Apache-2.0
"""What a server counts of its writes and of its query cache, before and after a run."""

from typing import Any, Self

import pytest
from querytape.common.errors import TargetError
from querytape.replay import parse_target
from querytape.replay.observe.server_counters import (
    OF_QUERY_CACHE,
    OF_WRITES,
    cache_counters,
    question,
    server_counters,
)
from querytape.servers.sandbox import Server

from ...helpers.cursors import MadeTarget


class Gone(MadeTarget):
    """A target that lets nobody in."""

    def connect(self, timeout_s: int = 0) -> Any:
        raise TargetError("gone")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (MadeTarget((("Uptime", "5"), ("Innodb_log_waits", "x"))), {"uptime": 5}),
        (MadeTarget(()), None),
        (Gone(), None),
    ],
)
def test_counters_are_numbers_by_name_or_none(made: Any, expected: dict[str, int] | None) -> None:
    assert server_counters(made, 5) == expected
    assert made.asked == ([] if isinstance(made, Gone) else [question(OF_WRITES)])


def test_servers_have_them(any_shop: Server) -> None:
    """The binary log, syncs and lock waits, of both families; a write makes them grow."""
    target = parse_target(any_shop.url(), environ={})
    before = server_counters(target, 5) or {}
    ((kept,),) = any_shop.execute("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")
    any_shop.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    any_shop.execute("INSERT INTO shop.log (conn) VALUES (1)")
    any_shop.execute(f"SET GLOBAL innodb_flush_log_at_trx_commit = {kept}")
    after = server_counters(target, 5) or {}
    assert {"binlog_cache_use", "innodb_data_fsyncs", "innodb_row_lock_waits", "uptime"} <= before.keys()
    assert after["innodb_data_fsyncs"] > before["innodb_data_fsyncs"]


class Cached(MadeTarget):
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
def test_cache_counters(rows: Any, expected: dict[str, int] | None) -> None:
    """Numbers by name; none where there is no cache, no number or no server."""
    server: Any = Cached(rows)
    assert cache_counters(server, 5) == expected
    assert server.asked == ([] if rows is None else [question(OF_QUERY_CACHE)])
