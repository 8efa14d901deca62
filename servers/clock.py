# SPDX-License-Identifier: Apache-2.0
"""Compare the wall clock of a server with the wall clock of this machine.

Replays on several machines have only the target's clock in common.
"""

import time
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .queries import query_or_none

if TYPE_CHECKING:
    from pymysql.connections import Connection

TRIPS = 16
CLOCK = "SELECT UNIX_TIMESTAMP(SYSDATE(6))"


@dataclass(frozen=True)
class ServerClock:
    """How far the server's clock is ahead of this machine's, in ns. The error is at most `bound_ns`."""

    ahead_ns: int
    bound_ns: int


def read_clock(con: "Connection[Any]") -> ServerClock | None:
    """Return the offset of the server's clock, from the shortest of several round trips.

    The server is assumed to read its clock in the middle of the round trip, so the error is at most half of the round
    trip. Returns None if the server has no such clock.
    """
    best: ServerClock | None = None
    for _ in range(TRIPS):
        sent, began = time.time_ns(), time.monotonic_ns()
        rows = query_or_none(con, CLOCK)
        half = (time.monotonic_ns() - began) // 2
        value = rows[0][0] if rows else None
        if not isinstance(value, Decimal):
            return None
        if best is None or half < best.bound_ns:
            best = ServerClock(int(value * 1_000_000_000) - sent - half, half)
    return best
