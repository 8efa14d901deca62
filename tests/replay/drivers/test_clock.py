# SPDX-License-Identifier: Apache-2.0
"""Tests of clock offsets. The error of an offset is within its bound, however long each direction of a round trip took."""

import random

from querytape.replay.drivers.clock import Offset, RoundTrip, clock_json, offset_of


def trip(sent_ns: int, there_ns: int, back_ns: int, ahead_ns: int) -> RoundTrip:
    """Return a round trip with these durations to a clock that is ahead by `ahead_ns`."""
    return RoundTrip(sent_ns, sent_ns + there_ns + ahead_ns, sent_ns + there_ns + back_ns)


def test_offset_error_is_within_the_bound() -> None:
    """In the extreme case, one direction takes the whole time of the round trip."""
    seeded = random.Random(5)
    for ahead in (0, 1, -(10**15), 3 * 10**15 + 7):
        for _ in range(300):
            trips = [
                trip(seeded.randrange(10**12), seeded.randrange(10**6), seeded.randrange(10**6), ahead)
                for _ in range(seeded.randrange(1, 9))
            ]
            found = offset_of(trips)
            assert abs(found.offset_ns - ahead) <= found.bound_ns
            assert found.bound_ns == min((one.length_ns + 1) // 2 for one in trips)
    for there, back in ((1001, 0), (0, 1001)):
        found = offset_of([trip(50, there, back, 9)])
        assert abs(found.offset_ns - 9) <= found.bound_ns == 501


def test_long_round_trip_does_not_change_the_offset() -> None:
    assert offset_of([trip(0, 10**6, 0, 5), trip(10**9, 10, 10, 5), trip(0, 0, 10**6, 5)]) == Offset(10**9 + 10, 5, 10)


def test_clock_drift_is_known_if_time_has_passed() -> None:
    """The bound of the drift contains the bounds of both measurements."""
    said = clock_json(Offset(0, 100, 10), Offset(10**9, 350, 20))
    assert said == {
        "offset_ns": 100,
        "bound_ns": 10,
        "end_offset_ns": 350,
        "end_bound_ns": 20,
        "drift_ppb": 250,
        "drift_bound_ppb": 31,
    }
    same = Offset(5, 1, 2)
    assert (clock_json(same, same)["drift_ppb"], clock_json(same, same)["drift_bound_ppb"]) == (None, None)
