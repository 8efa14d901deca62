# SPDX-License-Identifier: Apache-2.0
"""What happened over time, in sentences: warm-up, steadiness, stalls and whether they come periodically."""

from itertools import pairwise
from math import exp, log
from statistics import fmean, median, pstdev

from .numbers import count, duration
from .questions import Row

NOTICEABLE = 1.1
CALM_PARTS = 3
FEWEST_PERIODIC = 4
PERIODIC_SPREAD = 0.25
FEWEST_IN_PART = 20


def sentences(slowness: list[Row], stalls: list[Row]) -> list[tuple[str, str]]:
    """Return (run, sentence) on each run's course over time."""
    found = []
    for run in sorted({row["run"] for row in slowness}):
        parts = [row for row in slowness if row["run"] == run and row["round"] == 1]
        found += [(run, text) for text in (*_warmup(parts), *_steadiness(parts))]
    for run in sorted({row["run"] for row in stalls}):
        found += [(run, text) for text in _stalls([row for row in stalls if row["run"] == run])]
    return found


def warm_after_ns(parts: list[Row]) -> int:
    """Return when a run had warmed up: from then on three parts are as quick as its second half; 0 = from the start."""
    values = [row["slowness"] for row in parts]
    if len(values) < 20 or min(row["n"] for row in parts) < FEWEST_IN_PART:
        return 0
    steady = median(values[10:])
    for number in range(len(values) - CALM_PARTS):
        if all(value <= NOTICEABLE * steady for value in values[number : number + CALM_PARTS]):
            return int(number * parts[0]["span_ns"] / 20)
    return 0


def _warmup(parts: list[Row]) -> list[str]:
    until = warm_after_ns(parts)
    if not until:
        return []
    before = exp(fmean(log(row["slowness"]) for row in parts if row["part"] * row["span_ns"] / 20 < until))
    return [
        f"warmed up for {duration(until)}: {before - 1:+.0%} slower than afterwards until then."
        f" --exclude-warmup {max(1, round(until / 1e9))}s leaves it out"
    ]


def _steadiness(parts: list[Row]) -> list[str]:
    if len(parts) < 20 or min(row["n"] for row in parts) < FEWEST_IN_PART:
        return []
    first, last = (fmean(log(row["slowness"]) for row in half) for half in (parts[4:12], parts[12:]))
    change = exp(last - first)
    if max(change, 1 / change) < NOTICEABLE:
        return []
    return [f"was not steady: its last part was {'slower' if change > 1 else 'faster'} than its middle by {change:.2f}"]


def _stalls(rows: list[Row]) -> list[str]:
    total = sum(row["long_ns"] for row in rows)
    text = f"stood still {count(len(rows))} time{'s' if len(rows) > 1 else ''}, {duration(total)} together"
    text += f", {duration(max(row['long_ns'] for row in rows))} at most"
    if period := period_s(rows):
        text += f"; about every {period:.1f} s"
    return [text]


def period_s(rows: list[Row]) -> float | None:
    """Return the seconds between stalls that come evenly, None where they don't."""
    starts = sorted(row["at_ns"] for row in rows if row["round"] == rows[0]["round"])
    gaps = [(after - before) / 1e9 for before, after in pairwise(starts)]
    if len(gaps) < FEWEST_PERIODIC - 1 or pstdev(gaps) > PERIODIC_SPREAD * fmean(gaps):
        return None
    return fmean(gaps)
