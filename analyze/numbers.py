# SPDX-License-Identifier: Apache-2.0
"""Durations and counts as people read them."""


def duration(ns: float | None) -> str:
    """Return nanoseconds with three significant digits: `84.1us`, `1.23ms`, `12.0s`; a dash for None."""
    if ns is None:
        return "-"
    sign = "-" if ns < 0 else ""
    value = abs(ns)
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= size or unit == "us":
            scaled = value / size
            digits = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
            return f"{sign}{scaled:,.{digits}f}{unit}"
    return f"{sign}{value:.0f}ns"


def count(value: float | None) -> str:
    """Return a whole number with thousands separated; a dash for None."""
    return "-" if value is None else f"{value:,.0f}"


def ratio(value: float | None) -> str:
    """Return `x1.23`; a dash for None."""
    return "-" if value is None else f"x{value:.2f}" if value < 100 else f"x{value:,.0f}"


def percent(part: float, whole: float) -> str:
    """Return a share; a dash of nothing."""
    return "-" if not whole else f"{100 * part / whole:.1f}%"
