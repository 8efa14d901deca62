# SPDX-License-Identifier: Apache-2.0
"""Measure the offset between the CLOCK_MONOTONIC of a driver and that of the lead process by round trips.

The wall clock is not used. The driver reads its clock between the send and receive times of the lead process. The
midpoint of these times is the estimate. Half of the round trip bounds the error, even if the two directions take
different times. The shortest of many round trips gives the best estimate.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RoundTrip:
    """One round trip.

    `sent_ns` and `back_ns` are times of the lead's clock. `there_ns` is a time of the driver's clock.
    """

    sent_ns: int
    there_ns: int
    back_ns: int

    @property
    def length_ns(self) -> int:
        """The duration of the round trip."""
        return self.back_ns - self.sent_ns


@dataclass(frozen=True)
class Offset:
    """The difference between the driver's clock and the lead's clock at `at_ns` of the lead's clock.

    The value is driver minus lead. The error is at most `bound_ns`.
    """

    at_ns: int
    offset_ns: int
    bound_ns: int


def offset_of(trips: Iterable[RoundTrip]) -> Offset:
    """Return the offset from the shortest round trip."""
    best = min(trips, key=lambda trip: trip.length_ns)
    middle = best.sent_ns + best.length_ns // 2
    return Offset(middle, best.there_ns - middle, (best.length_ns + 1) // 2)


def clock_json(first: Offset, last: Offset) -> dict[str, Any]:
    """Return the clock fields of a driver in run.json.

    The fields are the offsets at the start and at the end, and the drift in parts per billion.
    """
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
