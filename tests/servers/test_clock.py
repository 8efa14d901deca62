# SPDX-License-Identifier: Apache-2.0
"""The offset of a server's clock: exact within its bound, and unknown without an answer."""

from contextlib import closing
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from querytape.servers import clock
from querytape.servers.clock import TRIPS, read_clock
from querytape.servers.sandbox import Server


@pytest.mark.server
def test_server_on_this_machine_has_the_same_clock(any_shop: Server) -> None:
    """The server rounds its time to microseconds."""
    with closing(any_shop.connect()) as con:
        found = read_clock(con)
    assert found is not None
    assert abs(found.ahead_ns) <= found.bound_ns + 1000


def test_shortest_round_trip_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of slow round trips are wrong by an hour. The server's clock is ahead by 5 s."""
    now = [0]
    trips = [9_000_000] * (TRIPS - 1)
    trips.insert(7, 200_000)
    monkeypatch.setattr(
        clock, "time", SimpleNamespace(time_ns=lambda: 10**18 + now[0], monotonic_ns=lambda: 500 + now[0])
    )

    def answer(con: Any, query: str) -> list[tuple[Decimal]]:
        trip = trips.pop(0)
        at = 10**18 + now[0] + trip // 2 + 5_000_000_000 + (3600 * 10**9 if trip > 10**6 else 0)
        now[0] += trip
        return [(Decimal(at) / 10**9,)]

    monkeypatch.setattr(clock, "query_or_none", answer)
    found = read_clock(None)  # type: ignore[arg-type]
    assert found is not None
    assert (found.ahead_ns, found.bound_ns) == (5_000_000_000, 100_000)


@pytest.mark.parametrize("rows", [None, [], [(None,)], [(7,)]])
def test_clock_is_unknown_without_an_answer(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "query_or_none", lambda con, query: rows)
    assert read_clock(None) is None  # type: ignore[arg-type]
