# SPDX-License-Identifier: Apache-2.0
"""When an event is due: a pure function in integer nanoseconds, and the same rule as SQL.

A speed is an exact fraction: 1.5 is 3/2, and half speed doubles every offset. No clock is read here.
"""

from fractions import Fraction

from ..errors import InputError

# Numerator and denominator of a speed: with 64-bit offsets every product fits DuckDB's HUGEINT.
LARGEST_TERM = 10**9
LARGEST_NS = 2**63 - 1


def parse_speed(text: str) -> Fraction | None:
    """Return a speed as an exact fraction (`1`, `0.5`, `3/2`), or None for `max`. Raises InputError."""
    if text.strip().lower() == "max":
        return None
    try:
        speed = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"--speed: expected a number such as 1, 0.5 or 3/2, or max; found {text!r}") from None
    if speed <= 0 or max(speed.numerator, speed.denominator) > LARGEST_TERM:
        raise InputError(f"--speed: expected more than 0 and at most nine digits, found {text!r}")
    return speed


def speed_text(speed: Fraction | None) -> str:
    """Return a speed as people write it: `1`, `0.5`, `1/3`, `max`."""
    if speed is None:
        return "max"
    decimal = f"{float(speed):g}"
    return decimal if Fraction(decimal) == speed else str(speed)


def due_ns(offset_ns: int, speed: Fraction) -> int:
    """Return when an event is due that came `offset_ns` (>= 0) after the tape's first, rounded down.

    Raises OverflowError where that is past 2^63 - 1 ns (292 years).
    """
    if offset_ns < 0:
        raise ValueError(f"offset_ns: expected 0 or more, found {offset_ns}")
    due = offset_ns * speed.denominator // speed.numerator
    if due > LARGEST_NS:
        raise OverflowError(f"an event would be due in {due} ns: past the end of a 64-bit clock")
    return due


def due_sql(offset: str, speed: Fraction) -> str:
    """Return the SQL expression that is `due_ns` of an SQL expression; DuckDB raises where it overflows."""
    return f"CAST(({offset})::HUGEINT * {speed.denominator} // {speed.numerator} AS BIGINT)"
