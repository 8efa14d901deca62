# SPDX-License-Identifier: Apache-2.0
"""Say what happened in a run over time: warm-up, steadiness, stalls and whether they come periodically."""

from itertools import pairwise
from math import exp, log
from statistics import fmean, median, pstdev

from ...common.units import count, duration
from ..database import Row
from ..model import Observation

PARTS = 20  # of a run, by relative_latency.sql
NOTICEABLE = 1.1
CALM_PARTS = 3
MIN_PERIODIC = 4
PERIODIC_SPREAD = 0.25
MIN_IN_PART = 20


def observations(relative_latency: list[Row], stalls: list[Row]) -> list[Observation]:
    """Return what is to be said of each run, from the rows of these two analyses."""
    observed = []
    for run in sorted({row["run"] for row in relative_latency}):
        parts = [row for row in relative_latency if row["run"] == run and row["round"] == 1]
        observed += [Observation(run, text) for text in (*_warm_up(parts), *_steadiness(parts))]
    for run in sorted({row["run"] for row in stalls}):
        observed.append(Observation(run, _stalls([row for row in stalls if row["run"] == run])))
    return observed


def warm_after_ns(parts: list[Row]) -> int:
    """Return when a run had warmed up: from then on three parts are as quick as its second half; 0 = from the start.

    What was slower only later than in its first part is no warm-up: it has stalls, or was not steady.
    """
    if not _measurable(parts):
        return 0
    values = [row["relative_latency"] for row in parts]
    steady = NOTICEABLE * median(values[PARTS // 2 :])
    if values[0] <= steady:
        return 0
    for number in range(1, len(values) - CALM_PARTS):
        if all(value <= steady for value in values[number : number + CALM_PARTS]):
            return int(number * parts[0]["span_ns"] / PARTS) if _slower_before(values, number) >= NOTICEABLE else 0
    return 0


def _slower_before(values: list[float], number: int) -> float:
    """Return how many times as long statements took before that part as from it on: geometric means."""
    return exp(fmean(map(log, values[:number])) - fmean(map(log, values[number:])))


def _measurable(parts: list[Row]) -> bool:
    """Return whether every part of a run has enough events."""
    return len(parts) >= PARTS and min(row["n"] for row in parts) >= MIN_IN_PART


def _warm_up(parts: list[Row]) -> list[str]:
    until = warm_after_ns(parts)
    if not until:
        return []
    cold = sum(row["part"] * row["span_ns"] / PARTS < until for row in parts)
    slower = _slower_before([row["relative_latency"] for row in parts], cold) - 1
    return [
        f"warmed up for {duration(until)}: statements were {slower:.0%} slower than afterwards."
        f" --exclude-warmup {max(1, round(until / 1e9))}s excludes this."
    ]


def _steadiness(parts: list[Row]) -> list[str]:
    if not _measurable(parts):
        return []
    middle, last = (fmean(log(row["relative_latency"]) for row in some) for some in (parts[4:12], parts[12:]))
    change = exp(last - middle)
    if max(change, 1 / change) < NOTICEABLE:
        return []
    more = f"{change - 1:.0%} longer" if change > 1 else f"{1 - change:.0%} less time"
    return [f"was not steady: statements took {more} in its last part than in its middle."]


def _stalls(rows: list[Row]) -> str:
    lengths = [row["long_ns"] for row in rows]
    text = f"had {count(len(rows))} stall{'s' if len(rows) > 1 else ''}, {duration(sum(lengths))} in all"
    if len(rows) > 1:
        text += f", the longest {duration(max(lengths))}"
    if period := period_s(rows):
        text += f"; about every {period:.1f} s"
    return f"{text}."


def period_s(rows: list[Row]) -> float | None:
    """Return the seconds between stalls that come evenly, None where they don't."""
    starts = sorted(row["at_ns"] for row in rows if row["round"] == rows[0]["round"])
    gaps = [(after - before) / 1e9 for before, after in pairwise(starts)]
    if len(gaps) < MIN_PERIODIC - 1 or pstdev(gaps) > PERIODIC_SPREAD * fmean(gaps):
        return None
    return fmean(gaps)
