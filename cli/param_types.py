# SPDX-License-Identifier: Apache-2.0
"""Types of options and arguments.

Each type wraps a parser of common/units.py or of a stage, with errors in click's style.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..common.units import parse_address, parse_duration, parse_rate, parse_share, parse_size, parse_time
from ..common.zones import Zone, read_zone

if TYPE_CHECKING:
    from fractions import Fraction


T = TypeVar("T")


class Parsed(click.ParamType[T]):
    """A type whose texts `_parse` parses or rejects with a ValueError.

    Values that are not text (defaults) stay unchanged.
    """

    def _parse(self, text: str) -> T:
        raise NotImplementedError

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """Return the parsed value."""
        if not isinstance(value, str):
            converted: T = value
            return converted
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Duration(Parsed[int]):
    """`500ms`, `60s`, `2m` or `1h`, as nanoseconds. A plain number means seconds."""

    name = "duration"

    def _parse(self, text: str) -> int:
        return parse_duration(text)


class Share(Parsed["Fraction"]):
    """A share, `10%` or `0.1`, as an exact fraction."""

    name = "share"

    def _parse(self, text: str) -> "Fraction":
        return parse_share(text)


class Part(Parsed["int | Fraction"]):
    """A part of a whole: a share (`10%` or `0.1`) as an exact fraction, or a number (`500`)."""

    name = "share or number"

    def _parse(self, text: str) -> "int | Fraction":
        number = text.isdecimal()
        part = int(text) if number else parse_share(text)
        if part <= 0 or (part > 1 and not number):
            raise ValueError(f"{text!r}: expected a share such as 10% or 0.1, or a number of at least 1")
        return part


class Size(Parsed[int]):
    """A size, `256M` or `1G`, as bytes."""

    name = "size"

    def _parse(self, text: str) -> int:
        return parse_size(text)


class PerSecond(Parsed[float]):
    """A rate above 0, `5/s` or `30/m`, as a number per second. A plain number is per second."""

    name = "rate"

    def _parse(self, text: str) -> float:
        return parse_rate(text)


class TimeZone(Parsed[Zone]):
    """A time zone, `+02:00`, `-0330`, `UTC` or `Europe/Berlin`, as a Zone."""

    name = "zone"

    def _parse(self, text: str) -> Zone:
        return read_zone(text)


class Moment(Parsed[int | tuple[bool, int]]):
    """A time in UTC, optionally with a fraction or an offset, as nanoseconds since 1970: `2026-11-20 15:21:05`.

    If relative times are allowed, `+10m` is also valid, and the value is a pair (is relative, nanoseconds).
    """

    name = "time"

    def __init__(self, relative: bool = False) -> None:
        self._relative = relative

    def _parse(self, text: str) -> int | tuple[bool, int]:
        if self._relative and text.startswith("+"):
            return True, parse_duration(text[1:])
        ns = parse_time(text)
        return (False, ns) if self._relative else ns


class Speed(Parsed["Fraction"]):
    """A factor of the tape's speed, `2` or `3/2`, as an exact fraction."""

    name = "factor"

    def _parse(self, text: str) -> "Fraction":
        from ..common.errors import InputError
        from ..replay.plan.pacing import parse_speed

        try:
            return parse_speed(text)
        except InputError as error:
            raise ValueError(str(error).removeprefix("--speed: ")) from error


class Pair(Parsed[tuple[str, str]]):
    """Two names, `a=b`, as a pair."""

    name = "a=b"

    def _parse(self, text: str) -> tuple[str, str]:
        left, equals, right = text.partition("=")
        if not equals or not left or not right:
            raise ValueError(f"{text!r}: expected two names, such as a=b")
        return left, right


class Levels(Parsed[tuple[int, ...]]):
    """Numbers, `1,2,4,...,64`.

    The dots repeat the factor before them. `growing`: each number must exceed the previous one.
    """

    name = "n,n,..."

    def __init__(self, growing: bool = True) -> None:
        self._growing = growing

    def _parse(self, text: str) -> tuple[int, ...]:
        from ..experiments.sweep import expand_levels

        expected = "increasing numbers such as 1,2,4,...,64" if self._growing else "numbers such as 1,8,64"
        try:
            levels = expand_levels(text)
        except ValueError:
            levels = ()
        if not levels or min(levels) < 1 or (self._growing and any(b <= a for a, b in pairwise(levels))):
            raise ValueError(f"{text!r}: expected {expected}")
        return levels


class Address(Parsed[tuple[str, int]]):
    """An address, `HOST:PORT` or `:PORT`, as host and port."""

    name = "address"

    def _parse(self, text: str) -> tuple[str, int]:
        return parse_address(text)
