# SPDX-License-Identifier: Apache-2.0
"""Format and parse durations, counts, sizes, fractions and times. Durations and times are integer nanoseconds.

Parsers raise ValueError with a message for the user.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction  # imported only for parsing a duration or a fraction

NS_PER_SECOND = 1_000_000_000
MICRO = "µs"  # unit of microseconds; text.py replaces the sign if a stream cannot encode it
_DURATIONS = {
    MICRO: 1_000,
    "us": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_SECOND,
    "m": 60 * NS_PER_SECOND,
    "h": 3600 * NS_PER_SECOND,
}
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_BYTES_PER_MEGABYTE = 1_000_000
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|µs|\u03bcs|ms|s|m|h)?")
_MICROSECONDS = re.compile(rf"(\d ?){MICRO}\b")
_SIZE = re.compile(r"(\d+)([kmg]?)(?:i?b)?")
_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(?:/([smh]))?")
_ZONE = re.compile(r"([+-])(\d{2}):?(\d{2})")
_MAX_ZONE_HOURS = 15


def duration(ns: float | None) -> str:
    """Return a duration with three significant digits: `84.1µs`, `1.23ms`, `12.0s`. None gives a dash."""
    if ns is None:
        return "-"
    sign = "-" if ns < 0 else ""
    value = abs(ns)
    for unit in ("s", "ms", MICRO):
        if value >= _DURATIONS[unit] or unit == MICRO:
            scaled = value / _DURATIONS[unit]
            digits = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
            return f"{sign}{scaled:,.{digits}f}{unit}"
    raise AssertionError("µs takes every duration")


def plain_micro(text: str) -> str:
    """Return a text with `us` instead of the micro sign, for JSON and tables that programs read."""
    return _MICROSECONDS.sub(r"\1us", text)


def short_duration(ns: int | None) -> str:
    """Return a duration in at most five characters: 85µs, 1.2ms, 340ms, 12s, 3.4h. None gives a dash."""
    if ns is None:
        return "-"
    value = max(ns, 0) / 1000
    for unit, factor in ((MICRO, 1000), ("ms", 1000), ("s", 3600)):
        if value < 9.95 and unit != MICRO:
            return f"{value:.1f}{unit}"
        if value < min(factor - 0.5, 999.5):
            return f"{value:.0f}{unit}"
        value /= factor
    return f"{value:.1f}h" if value < 99.95 else f"{value:.0f}h"[:5]


def seconds(ns: float, digits: int = 1) -> str:
    """Return a duration in seconds: `1,204.5 s`."""
    return f"{ns / NS_PER_SECOND:,.{digits}f} s"


def clock(ns: int) -> str:
    """Return an elapsed time as 0:12, 12:34 or 1:02:03."""
    whole = max(ns, 0) // NS_PER_SECOND
    minutes, hours = whole // 60 % 60, whole // 3600
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def utc_time(ns: int) -> str:
    """Return a UTC time as `2024-06-10 06:13:20.123`. The argument is nanoseconds since the epoch.

    A time outside the calendar is returned as a plain number.
    """
    try:
        when = datetime.fromtimestamp(ns // NS_PER_SECOND, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{ns} ns"
    return f"{when:%Y-%m-%d %H:%M:%S}.{ns % NS_PER_SECOND // 1_000_000:03d}"


def count(value: float | None) -> str:
    """Return a whole number with thousands separators. None gives a dash."""
    return "-" if value is None else f"{value:,.0f}"


def plural(n: int, noun: str) -> str:
    """Return a number with its noun: `1 digest`, `4,340 events`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def short_count(value: int) -> str:
    """Return a count in at most five characters: 1523, 12.3k, 1.2M."""
    if value < 10_000:
        return str(value)
    for unit in "kMGTP":
        scaled = value / 1000
        if scaled < 99.95:
            return f"{scaled:.1f}{unit}"
        if scaled < 999.5:
            return f"{scaled:.0f}{unit}"
        value //= 1000
    return "many"


def megabytes(size: float, digits: int = 0) -> str:
    """Return a size in bytes as `1,204 MB` (10^6 bytes)."""
    return f"{size / _BYTES_PER_MEGABYTE:,.{digits}f} MB"


def ratio(value: float | None) -> str:
    """Return a ratio as `x1.23`. None gives a dash."""
    return "-" if value is None else f"x{value:.2f}" if value < 100 else f"x{value:,.0f}"


def percent(part: float, whole: float) -> str:
    """Return `part` as a percentage of `whole`: `12.3%`. A `whole` of 0 gives a dash."""
    return "-" if not whole else f"{100 * part / whole:.1f}%"


def whole_percents(parts: Sequence[int]) -> list[str]:
    """Return each part as a percentage of the sum. The rounded percentages add up to 100.0%."""
    total = sum(parts)
    if not total:
        return ["-"] * len(parts)
    tenths = [part * 1000 // total for part in parts]
    by_rest = sorted(range(len(parts)), key=lambda i: -(parts[i] * 1000 % total))
    for i in by_rest[: 1000 - sum(tenths)]:
        tenths[i] += 1
    return [f"{tenth // 10}.{tenth % 10}%" for tenth in tenths]


def average(value: float | None, digits: int) -> str:
    """Return a mean or a ratio as text: `1.25`.

    Returns `less than 0.01` if the value would be rounded to 0. Returns `unknown` for None.
    """
    if value is None:
        return "unknown"
    least = 10**-digits
    return f"less than {least}" if 0 < value < least / 2 else f"{value:,.{digits}f}"


def parse_duration(text: str) -> int:
    """Return the nanoseconds of `500ms`, `60s`, `2m` or `1h`. A bare number means seconds. Raises ValueError."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r}: expected a duration such as 500ms, 60s or 2m")
    from fractions import Fraction

    return int(Fraction(match[1]) * _DURATIONS[match[2] or "s"])


def parse_size(text: str) -> int:
    """Return the bytes of `256M` or `1G` (powers of 1024). Raises ValueError for 0 and for other texts."""
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or int(match[1]) == 0:
        raise ValueError(f"{text!r}: expected a size such as 256M or 1G")
    return int(match[1]) * _SIZES[match[2]]


def parse_share(text: str) -> "Fraction":
    """Return the exact fraction of `10%` or `0.1`. Raises ValueError if the text is not a fraction or is negative."""
    from fractions import Fraction

    bare = text.strip()
    try:
        share = Fraction(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if share < 0:
        raise ValueError(f"{text!r}: expected a share such as 10% or 0.1")
    return share


def parse_rate(text: str) -> float:
    """Return the number per second of `5/s`, `30/m`, `100/h` or `5`. Raises ValueError for 0 and for other texts."""
    match = _RATE.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"{text!r}: expected a rate such as 5/s or 30/m")
    return float(match[1]) / {"s": 1, "m": 60, "h": 3600}[match[2] or "s"]


def parse_zone(text: str) -> int:
    """Return the UTC offset in nanoseconds of `+02:00`, `-0330`, `UTC` or `Z`. Raises ValueError."""
    if text.upper() in ("UTC", "Z"):
        return 0
    match = _ZONE.fullmatch(text)
    if match is None or int(match[2]) > _MAX_ZONE_HOURS or int(match[3]) > 59:
        raise ValueError(f"{text!r}: expected an offset such as +02:00 or UTC")
    offset = (int(match[2]) * 3600 + int(match[3]) * 60) * NS_PER_SECOND
    return offset if match[1] == "+" else -offset


def parse_time(text: str) -> int:
    """Return the nanoseconds since the epoch of `2026-11-20 15:21:05`. The time is UTC unless it has an offset. Raises
    ValueError.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r}: expected a time such as '2026-11-20 15:21:05' (UTC)") from error
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return int(at.replace(microsecond=0).timestamp()) * NS_PER_SECOND + at.microsecond * 1000


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, `[IPV6]:PORT`, `:PORT` or `PORT`. The default host is 127.0.0.1."""
    host, _, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r}: expected brackets around an IPv6 address, such as [::1]:9464")
    if not re.fullmatch(r"\d{1,5}", port, re.ASCII) or int(port) > 65535:
        raise ValueError(f"{text!r}: expected HOST:PORT or :PORT, such as :9464, with a port of at most 65535")
    return host or "127.0.0.1", int(port)


def address_text(host: str, port: int) -> str:
    """Return host and port as one string in the format of parse_address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
