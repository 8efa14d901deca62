# SPDX-License-Identifier: Apache-2.0
"""Values of the command line that several commands take: durations, sizes, times, time zones."""

import re
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import click

UNITS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
ZONE = re.compile(r"^([+-])(\d{2}):?(\d{2})$")


class Duration(click.ParamType[int]):
    """`500ms`, `60s`, `2m` or `1h`, as nanoseconds; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return nanoseconds."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)?", str(value).strip())
        if found is None:
            self.fail(f"{value!r}: expected a duration such as 500ms, 60s or 2m", param, ctx)
        return int(Fraction(found[1]) * UNITS[found[2] or "s"])


class Share(click.ParamType[float]):
    """`10%` or `0.1`, as a fraction."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the fraction."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", str(value).strip())
        if found is None:
            self.fail(f"{value!r}: expected a share such as 10% or 0.1", param, ctx)
        return float(found[1]) / (100 if found[2] else 1)


class Size(click.ParamType[int]):
    """`256M` or `1G`, as bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+)([kmg]?)(?:i?b)?", str(value).strip().lower())
        if found is None or int(found[1]) == 0:
            self.fail(f"{value!r}: expected a size such as 256M or 1G", param, ctx)
        return int(found[1]) * SIZES[found[2]]


class TimeZone(click.ParamType[int]):
    """`+02:00`, `-0330` or `UTC`, as nanoseconds to add to UTC."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the offset in nanoseconds."""
        if isinstance(value, int):
            return value
        if str(value).upper() in ("UTC", "Z"):
            return 0
        found = ZONE.match(str(value))
        if found is None or int(found[2]) > 15 or int(found[3]) > 59:
            self.fail(f"{value!r}: expected an offset such as +02:00 or UTC", param, ctx)
        seconds = int(found[2]) * 3600 + int(found[3]) * 60
        return (seconds if found[1] == "+" else -seconds) * 1_000_000_000


class Moment(click.ParamType[Any]):
    """A time in UTC, `2026-11-20 15:21:05` or with a fraction or an offset, as nanoseconds since 1970.

    Where it may be relative, `+10m` as well, and a value is (whether it is, nanoseconds).
    """

    name = "time"

    def __init__(self, relative: bool = False) -> None:
        self._relative = relative

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | tuple[bool, int]:
        """Return nanoseconds."""
        if isinstance(value, (int, tuple)):
            return value
        if self._relative and str(value).startswith("+"):
            return True, Duration().convert(str(value)[1:], param, ctx)
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r}: expected a time such as '2026-11-20 15:21:05' (UTC)", param, ctx)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        whole = at.replace(microsecond=0)
        ns = int(whole.timestamp()) * 1_000_000_000 + at.microsecond * 1000
        return (False, ns) if self._relative else ns
