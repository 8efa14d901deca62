# SPDX-License-Identifier: Apache-2.0
"""How far a driver's CLOCK_MONOTONIC is ahead of the lead's, by round trips; the wall clock plays no part.

Of one round trip the driver's time lies between sending and receiving: in the middle, give or take half of it. The
shortest of many is the best, and its half is a bound, whatever the two ways took.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RoundTrip:
    """One exchange: sent and back by the lead's clock, `there_ns` by the driver's."""

    sent_ns: int
    there_ns: int
    back_ns: int

    @property
    def length_ns(self) -> int:
        """How long it took."""
        return self.back_ns - self.sent_ns


@dataclass(frozen=True)
class Offset:
    """The driver's clock less the lead's, at a moment of the lead's; it is not further off than `bound_ns`."""

    at_ns: int
    offset_ns: int
    bound_ns: int


def offset_of(trips: Iterable[RoundTrip]) -> Offset:
    """Return what the shortest round trip says."""
    best = min(trips, key=lambda trip: trip.length_ns)
    middle = best.sent_ns + best.length_ns // 2
    return Offset(middle, best.there_ns - middle, (best.length_ns + 1) // 2)


def clock_json(first: Offset, last: Offset) -> dict[str, Any]:
    """Return what run.json says of a driver's clock: at zero, at the end, and the drift between (billionths)."""
    elapsed = last.at_ns - first.at_ns
    known = elapsed > 0
    return {
        "offset_ns": first.offset_ns,
        "bound_ns": first.bound_ns,
        "end_offset_ns": last.offset_ns,
        "end_bound_ns": last.bound_ns,
        "drift_ppb": (last.offset_ns - first.offset_ns) * 10**9 // elapsed if known else None,
        "drift_bound_ppb": (last.bound_ns + first.bound_ns) * 10**9 // elapsed + 1 if known else None,
    }
