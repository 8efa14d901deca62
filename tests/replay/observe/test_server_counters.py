# SPDX-License-Identifier: Apache-2.0
"""What a server counts of its writes: asked before and after a run."""

from typing import Any

import pytest
from querytape.common.errors import TargetError
from querytape.replay import parse_target
from querytape.replay.observe.server_counters import ASK, server_counters
from querytape.servers.sandbox import Server

from ...helpers.cursors import MadeTarget


class Gone(MadeTarget):
    """A target that lets nobody in."""

    def connect(self, timeout_s: int = 0) -> Any:
        """Refuse."""
        raise TargetError("gone")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (MadeTarget((("Uptime", "5"), ("Innodb_pages_read", "x"))), {"uptime": 5}),
        (MadeTarget(()), None),
        (Gone(), None),
    ],
)
def test_counters(made: Any, expected: dict[str, int] | None) -> None:
    """Numbers by name; None where there is none, or no server."""
    assert server_counters(made, 5) == expected
    assert made.asked == ([] if isinstance(made, Gone) else [ASK])


def test_servers_have_them(any_shop: Server) -> None:
    """The binary log, syncs and the redo log, of both families; a write makes them grow."""
    target = parse_target(any_shop.url(), environ={})
    before = server_counters(target, 5) or {}
    any_shop.execute("INSERT INTO shop.log (conn) VALUES (1)")
    after = server_counters(target, 5) or {}
    assert {"binlog_cache_use", "innodb_data_fsyncs", "innodb_os_log_written", "uptime"} <= before.keys()
    assert after["innodb_os_log_written"] > before["innodb_os_log_written"]
