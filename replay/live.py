# SPDX-License-Identifier: Apache-2.0
"""The one line a second: pure functions from a tick to at most 80 columns."""

from .ticks import Tick

HEADER = "   time   open    q/s   read  write  other    p95  err/s   late  done      eta"
HEADER_EVERY = 20
NS = 1_000_000_000


def line(tick: Tick, interval_ns: int, share: float, eta_ns: int | None) -> str:
    """Return a tick as one line under HEADER.

    Counts become rates over `interval_ns`; `share` is what is done of the run, 0 to 1; `p95` is service time, `late`
    is the p99 of sent less due, all causes.
    """

    def rate(n: int) -> str:
        return f"{count(n * NS // max(interval_ns, 1)):>6}"

    cells = [
        f"{clock(tick.at_ns):>7}",
        f"{count(tick.sessions_open):>6}",
        rate(tick.reads + tick.writes + tick.others),
        rate(tick.reads),
        rate(tick.writes),
        rate(tick.others),
        f"{duration(tick.p95_ns):>6}",
        rate(tick.errors),
        f"{duration(tick.late_p99_ns):>6}",
        f"{min(max(share, 0.0), 1.0):>5.0%}",
        f"{'-' if eta_ns is None else clock(eta_ns):>8}",
    ]
    return " ".join(cells)


def progress(at_ns: int, last_due_ns: int, done: int, planned: int, paced: bool) -> tuple[float, int | None]:
    """Return (share done, nanoseconds left or None): by the schedule where there is one, else by events."""
    if paced and last_due_ns > 0:
        return at_ns / last_due_ns, max(last_due_ns - at_ns, 0)
    share = done / planned if planned else 1.0
    return share, int(at_ns * (1 - share) / share) if share > 0 else None


def count(n: int) -> str:
    """Return a count in at most five characters: 1523, 12.3k, 1.2M."""
    if n < 10_000:
        return str(n)
    for unit in "kMGTP":
        n_unit = n / 1000
        if n_unit < 99.95:
            return f"{n_unit:.1f}{unit}"
        if n_unit < 999.5:
            return f"{n_unit:.0f}{unit}"
        n //= 1000
    return "many"


def duration(ns: int | None) -> str:
    """Return a duration in at most five characters: 85us, 1.2ms, 340ms, 12s, 3.4h."""
    if ns is None:
        return "-"
    value = max(ns, 0) / 1000
    for unit, factor in (("us", 1000), ("ms", 1000), ("s", 3600)):
        if value < 9.95 and unit != "us":
            return f"{value:.1f}{unit}"
        if value < min(factor - 0.5, 999.5):
            return f"{value:.0f}{unit}"
        value /= factor
    return f"{value:.1f}h" if value < 99.95 else f"{value:.0f}h"[:5]


def clock(ns: int) -> str:
    """Return a time from the run's zero as 0:12, 12:34 or 1:02:03."""
    seconds = max(ns, 0) // NS
    minutes, hours = seconds // 60 % 60, seconds // 3600
    return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"
