# SPDX-License-Identifier: Apache-2.0
"""Is a digest slower, and is it real? A word for each digest from its shifts.

slower        the middle of its times lies beyond the margin, false discoveries over all digests corrected for, and
              somebody would notice; or its slow end (p95) does, beyond twice the margin
faster        likewise the other way
same          its interval lies inside the margin, or the difference is one that nobody would notice
unstable      neither: the interval crosses the margin
cannot tell   too few events in both runs, or the runs themselves can't carry a claim
errors        statements fail that did not, or otherwise: nothing is said about their times
docs/report.md explains it with examples.
"""

from dataclasses import dataclass
from math import exp, log1p
from typing import Any

import numpy as np

from .shifts import Shift, Test

FEWEST_EVENTS = 30
FALSE_DISCOVERIES = 0.1  # among digests that lie just at the margin; those that did not change lie far below it
TAIL_NS_FACTOR = 4  # the slow end has to be slower by so many times what is noticed in the middle

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
    """What counts as a difference: more than `ratio` (0.1 = 10 %), and more than `ns`."""

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
    """What is known of one digest: its row of pairs.sql, its shifts, how many errors are new."""

    digest: str
    pair: dict[str, Any] | None
    shift: Shift | None
    new_errors: int


def judge_all(cases: list[Case], margin: Margin, doubt: str | None = None) -> dict[str, Verdict]:
    """Return the verdict on each digest. `doubt`: why the runs can't carry any claim; None = they can."""
    testable = [case for case in cases if not case.new_errors and _hindrance(case, doubt) is None]
    slower = corrected([_p(case.shift, "p_above") for case in testable])
    faster = corrected([_p(case.shift, "p_below") for case in testable])
    tail = corrected([_tail_p(case.shift) for case in testable])
    found = {}
    for case in cases:
        if case.new_errors:
            found[case.digest] = Verdict(ERRORS, f"{case.new_errors:,} new error{'s' if case.new_errors > 1 else ''}")
        elif (why := _hindrance(case, doubt)) is not None:
            found[case.digest] = Verdict(CANNOT_TELL, why)
    for case, up, down, end in zip(testable, slower, faster, tail, strict=True):
        found[case.digest] = _judge(case, margin, up, down, end)
    return found


def _hindrance(case: Case, doubt: str | None) -> str | None:
    """Return why nothing can be said of a digest, None where something can."""
    if doubt is not None:
        return doubt
    events = case.shift.events if case.shift else 0
    if events < FEWEST_EVENTS:
        return f"{events} events in both; {FEWEST_EVENTS} are needed"
    if case.shift is None or case.shift.middle is None:
        return "all of them at once: no time to compare over"
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


def corrected(found: list[float]) -> list[float]:
    """Return p-values corrected for false discoveries (Benjamini and Hochberg 1995).

    As scipy.stats.false_discovery_control says it, which takes half a second to load: an eighth of a small report.
    """
    order = np.argsort(found)[::-1]
    scaled = np.asarray(found)[order] * len(found) / np.arange(len(found), 0, -1)
    result = np.empty(len(found))
    result[order] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return [float(p) for p in result]
