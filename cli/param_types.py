# SPDX-License-Identifier: Apache-2.0
"""Types of options and arguments: each is a parser of common/units.py or of a stage, with click's way to say no."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from ..common.units import parse_address, parse_duration, parse_rate, parse_share, parse_size, parse_time
from ..common.zones import Zone, read_zone

if TYPE_CHECKING:
    from fractions import Fraction


class Duration(click.ParamType[int]):
    """`500ms`, `60s`, `2m` or `1h`, as nanoseconds; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return nanoseconds."""
        if isinstance(value, int):
            return value
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Share(click.ParamType["Fraction"]):
    """`10%` or `0.1`, as an exact fraction. `part`: of a whole, so more than nothing and at most all of it."""

    name = "share"

    def __init__(self, part: bool = False) -> None:
        self._part = part

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Fraction":
        """Return the fraction."""
        from fractions import Fraction

        if isinstance(value, Fraction):
            return value
        try:
            share = parse_share(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if self._part and not 0 < share <= 1:
            self.fail(f"{value!r}: expected a share of more than 0 and at most 100%, such as 10% or 0.1", param, ctx)
        return share


class Size(click.ParamType[int]):
    """`256M` or `1G`, as bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class PerSecond(click.ParamType[float]):
    """`5/s` or `30/m`, as a number a second; a bare number is a second's. More than nothing."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return how many a second."""
        if isinstance(value, float):
            return value
        try:
            return parse_rate(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class TimeZone(click.ParamType[Zone]):
    """`+02:00`, `-0330`, `UTC` or `Europe/Berlin`, as a Zone."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Zone:
        """Return the zone."""
        if isinstance(value, int | tuple):
            return value
        try:
            return read_zone(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Moment(click.ParamType[Any]):
    """A time in UTC, `2026-11-20 15:21:05` or with a fraction or an offset, as nanoseconds since 1970.

    Where it may be relative, `+10m` as well, and a value is (whether it is, nanoseconds).
    """

    name = "time"

    def __init__(self, relative: bool = False) -> None:
        self._relative = relative

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | tuple[bool, int]:
        """Return nanoseconds."""
        if isinstance(value, int | tuple):
            return value
        try:
            if self._relative and str(value).startswith("+"):
                return True, parse_duration(str(value)[1:])
            ns = parse_time(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return (False, ns) if self._relative else ns


class Speed(click.ParamType["Fraction"]):
    """A factor of the tape's speed as an exact fraction, `2` or `3/2`."""

    name = "factor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Fraction":
        """Return a fraction."""
        from fractions import Fraction

        from ..common.errors import InputError
        from ..replay.plan.pacing import parse_speed

        if isinstance(value, Fraction):
            return value
        try:
            return parse_speed(str(value))
        except InputError as error:
            self.fail(str(error).removeprefix("--speed: "), param, ctx)


class Pair(click.ParamType[tuple[str, str]]):
    """`a=b`, as both names."""

    name = "a=b"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return both sides."""
        if isinstance(value, tuple):
            return value
        left, equals, right = str(value).partition("=")
        if not equals or not left or not right:
            self.fail(f"{value!r}: expected two names as in a=b", param, ctx)
        return left, right


class Levels(click.ParamType[tuple[int, ...]]):
    """`1,2,4,...,64`: the dots continue by the factor before them. `growing`: each number exceeds the one before."""

    name = "n,n,..."

    def __init__(self, growing: bool = True) -> None:
        self._growing = growing

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers, each at least 1."""
        from ..experiments.sweep import expand_levels

        if isinstance(value, tuple):
            return value
        try:
            levels = expand_levels(str(value))
        except ValueError:
            levels = ()
        if not levels or min(levels) < 1 or (self._growing and any(b <= a for a, b in pairwise(levels))):
            expected = "growing numbers such as 1,2,4,...,64" if self._growing else "numbers such as 1,8,64"
            self.fail(f"{value!r}: expected {expected}", param, ctx)
        return levels


class Address(click.ParamType[tuple[str, int]]):
    """`HOST:PORT` or `:PORT`, as host and port."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return host and port."""
        if isinstance(value, tuple):
            return value
        try:
            return parse_address(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
