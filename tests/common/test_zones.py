# SPDX-License-Identifier: Apache-2.0
"""Named time zones, with each change of their offset, exact to the second."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from querytape.common.zones import read_zone

pytestmark = pytest.mark.slow

HOUR = 3_600_000_000_000


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", ["Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata", "Africa/Casablanca"]
)
def test_zone_offset_is_right_at_each_hour(name: str) -> None:
    """The last offset change before a time determines the offset."""
    zone = read_zone(name)
    assert isinstance(zone, tuple)
    at, place = datetime(2015, 1, 1, tzinfo=UTC), 0
    while at.year < 2027:
        now = int(at.timestamp()) * 1_000_000_000
        while place + 1 < len(zone) and zone[place + 1][0] <= now:
            place += 1
        offset = at.astimezone(ZoneInfo(name)).utcoffset()
        assert offset is not None
        assert zone[place][1] == int(offset.total_seconds()) * 1_000_000_000, at
        at += timedelta(minutes=30)


def test_fixed_offsets_are_numbers_and_unknown_zones_are_refused() -> None:
    """A fixed offset such as +02:00 stays a number."""
    assert (read_zone("+02:00"), read_zone("UTC")) == (2 * HOUR, 0)
    for text in ("Europe/Nowhere", "../etc/passwd", "+2", ""):
        with pytest.raises(ValueError, match="time zone name such as Europe/Berlin"):
            read_zone(text)
