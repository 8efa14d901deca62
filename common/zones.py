# SPDX-License-Identifier: Apache-2.0
"""Time zones by name. A zone with daylight saving time is a list of offsets with their start times."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from .units import NS_PER_SECOND, parse_zone

FIRST, LAST = datetime(1995, 1, 1, tzinfo=UTC), datetime(2046, 1, 1, tzinfo=UTC)
# A fixed offset in nanoseconds, or the changes of a zone in time order: (nanoseconds since 1970, offset).
Zone = int | tuple[tuple[int, int], ...]


def read_zone(text: str) -> Zone:
    """Return the zone of a text such as `+02:00`, `UTC` or `Europe/Berlin`. Raises ValueError."""
    try:
        return parse_zone(text)
    except ValueError:
        try:
            return offsets(ZoneInfo(text))
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(
                f"{text!r}: expected an offset such as +02:00, UTC, or a time zone name such as Europe/Berlin"
            ) from error


def offsets(zone: ZoneInfo) -> tuple[tuple[int, int], ...]:
    """Return each change of a zone's offset between 1995 and 2045 as (time, offset from UTC), both in nanoseconds."""
    found, at = [(0, _offset(zone, FIRST))], FIRST
    while at < LAST:
        following = at + timedelta(days=1)
        if _offset(zone, following) != _offset(zone, at):
            change = _change(zone, at, following)
            found.append((int(change.timestamp()) * NS_PER_SECOND, _offset(zone, change)))
        at = following
    return tuple(found)


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """Return the first second that has the same offset as `after`. The offset at `before` is different."""
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if _offset(zone, middle) == _offset(zone, before):
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, at: datetime) -> int:
    """Return the offset of a zone at a given time, in nanoseconds."""
    offset = at.astimezone(zone).utcoffset() or timedelta()
    return int(offset.total_seconds()) * NS_PER_SECOND
