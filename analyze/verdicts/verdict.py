# SPDX-License-Identifier: Apache-2.0
"""Judge each digest: one word, from its shifts.

slower        the middle of its times is beyond the margin, after correction for false discoveries over all digests,
              and by more than the margin's time; or its tail (p95) is, beyond twice the margin
faster        the middle of its times is beyond the margin in the other direction
same          its interval is inside the margin, or the difference is less than the margin's time
unstable      neither: the interval crosses the margin
cannot tell   too few events in both runs, or the runs themselves can't carry a claim
errors changed  statements fail that did not, or fail with another error: nothing is said about their times
docs/report.md explains it with examples.
"""

from dataclasses import dataclass
from math import exp, log1p
from typing import Any

import numpy as np

from .shifts import Shift, Test

MIN_EVENTS = 30
FALSE_DISCOVERIES = 0.1  # among digests just at the margin; those that did not change are far below it
TAIL_NS_FACTOR = 4  # the tail has to be slower by this many times the margin's time

SLOWER, FASTER, SAME, UNSTABLE, CANNOT_TELL, ERRORS = (
    "slower",
    "faster",
    "same",
    "unstable",
    "cannot tell",
    "errors changed",
)
WORDS = (SLOWER, ERRORS, FASTER, SAME, UNSTABLE, CANNOT_TELL)


@dataclass(frozen=True)
class Margin:
    """The smallest difference that counts: more than `ratio` (0.1 = 10 %), and more than `ns`."""

    ratio: float = 0.1
    ns: int = 50_000

    @property
    def log(self) -> float:
        """The ratio as a logarithm."""
        return log1p(self.ratio)


@dataclass(frozen=True)
class Verdict:
    """A word and the reason for it, in a few words; `p` after correction, where there was a test."""

    word: str
    why: str
    p: float | None = None


@dataclass(frozen=True)
class Case:
    """One digest to judge: its row of pairs.sql, its shifts, how many errors are new."""

    digest: str
    pair: dict[str, Any] | None
    shift: Shift | None
    new_errors: int


def judge_all(cases: list[Case], margin: Margin, doubt: str | None = None) -> dict[str, Verdict]:
    """Return the verdict on each digest. `doubt`: why the runs can't carry any claim; None = they can."""
    testable = [case for case in cases if not case.new_errors and _not_judgeable(case, doubt) is None]
    slower = corrected([_p(case.shift, "p_above") for case in testable])
    faster = corrected([_p(case.shift, "p_below") for case in testable])
    tail = corrected([_tail_p(case.shift) for case in testable])
    verdicts = {}
    for case in cases:
        if case.new_errors:
            verdicts[case.digest] = Verdict(
                ERRORS, f"{case.new_errors:,} new error{'s' if case.new_errors > 1 else ''}"
            )
        elif (why := _not_judgeable(case, doubt)) is not None:
            verdicts[case.digest] = Verdict(CANNOT_TELL, why)
    for case, up, down, end in zip(testable, slower, faster, tail, strict=True):
        verdicts[case.digest] = _judge(case, margin, up, down, end)
    return verdicts


def _not_judgeable(case: Case, doubt: str | None) -> str | None:
    """Return why nothing can be said of a digest, None where something can."""
    if doubt is not None:
        return doubt
    events = case.shift.events if case.shift else 0
    if events < MIN_EVENTS:
        return f"{events} events in both; {MIN_EVENTS} are needed"
    if case.shift is None or case.shift.middle is None:
        return "all events at the same time: nothing to compare over"
    return None


def _judge(case: Case, margin: Margin, up: float, down: float, end: float) -> Verdict:
    shift, pair = case.shift, case.pair or {}
    assert shift is not None
    middle = shift.middle
    assert middle is not None
    ratio, difference = exp(middle.shift), _difference(pair, middle)
    if up <= FALSE_DISCOVERIES and difference >= margin.ns:
        return Verdict(SLOWER, f"x{ratio:.2f}", up)
    if down <= FALSE_DISCOVERIES and -difference >= margin.ns:
        return Verdict(FASTER, f"x{ratio:.2f}", down)
    if shift.tail and end <= FALSE_DISCOVERIES and shift.tail_ns >= TAIL_NS_FACTOR * margin.ns:
        return Verdict(SLOWER, f"p95 x{exp(shift.tail.shift):.1f}", end)
    test = shift.rounds or middle
    if -margin.log < test.low and test.high < margin.log:
        return Verdict(SAME, "within the margin")
    if abs(difference) < margin.ns:
        return Verdict(SAME, f"differs by less than {margin.ns / 1000:g} us")
    return Verdict(UNSTABLE, "its interval crosses the margin")


def _difference(pair: dict[str, Any], middle: Test) -> float:
    """Return how much more the middle of B is in ns; of unpaired digests from A's level."""
    if pair.get("median_a_ns") is not None:
        return float(pair["median_a_ns"]) * (exp(middle.shift) - 1)
    return float("inf") if middle.shift > 0 else float("-inf")


def _p(shift: Shift | None, name: str) -> float:
    """Return the greater p of the blocks' and the rounds' test: an effect has to be beyond both variances."""
    tests = [test for test in (shift and shift.middle, shift and shift.rounds) if test]
    return max((float(getattr(test, name)) for test in tests), default=1.0)


def _tail_p(shift: Shift | None) -> float:
    return shift.tail.p_above if shift and shift.tail else 1.0


def corrected(p_values: list[float]) -> list[float]:
    """Return p-values corrected for false discoveries (Benjamini and Hochberg 1995).

    scipy.stats.false_discovery_control does the same, but takes half a second to load: an eighth of a small report.
    """
    order = np.argsort(p_values)[::-1]
    scaled = np.asarray(p_values)[order] * len(p_values) / np.arange(len(p_values), 0, -1)
    result = np.empty(len(p_values))
    result[order] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return [float(p) for p in result]
