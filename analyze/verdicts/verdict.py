# SPDX-License-Identifier: Apache-2.0
"""Judge each digest by its shifts. A verdict is one word.

slower          the middle of its times is beyond the margin, after correction for false discoveries over all
                digests, and by more than the margin's time; or its tail (p95) is beyond twice the margin
faster          the middle of its times is beyond the margin in the other direction
same            its interval is inside the margin, or the difference is less than the margin's time
unstable        its interval crosses the margin
inconclusive    both runs have too few events, or the runs cannot support any verdict, or other programs used
                more CPU during one side
errors changed  statements fail that succeeded in A (or on the tape, if its outcome is known), or fail with
                another error; their times get no verdict

Each of slower, faster and same uses only the blocks of time that may support it (interference.py). Digests with fewer
than 30 events are tested exactly (exact.py). The correction is weighted by the time at stake (Genovese, Roeder and
Wasserman 2006). Thousands of light digests therefore do not hide the few heavy ones. docs/report.md explains the
verdicts with examples.
"""

from dataclasses import dataclass
from math import exp, log1p, sqrt

from ...common.units import MICRO, plural
from .discoveries import discoveries
from .exact import MIN_PAIRS, Exact, rounds_needed
from .shifts import Shift, Shifts, Test

MIN_EVENTS = 30
MAX_FAILED = 0.01  # share of a digest's events that failed on both sides but not on the tape
FALSE_DISCOVERIES = 0.1  # 0.4 gave 8 % false verdicts on noisy digests if half of them were slower (make verdicts)
SAME_P = 0.05
UNSEEN_ROUNDS_P = 0.001  # maximum p of the test over rounds, if the effect of other programs is unknown
ROUNDS_P = 0.01  # maximum p of the test over rounds; a slow machine affects all digests of a round
MIDDLE, TAIL, OF_TAIL = "middle", "tail", "its p95"
TAIL_NS_FACTOR = 4  # the tail must be slower by at least this many times the margin's `ns`

SLOWER, FASTER, SAME, UNSTABLE, INCONCLUSIVE, ERRORS = (
    "slower",
    "faster",
    "same",
    "unstable",
    "inconclusive",
    "errors changed",
)
WORDS = (SLOWER, ERRORS, FASTER, SAME, UNSTABLE, INCONCLUSIVE)


@dataclass(frozen=True)
class Margin:
    """The smallest difference that counts. A difference must exceed both `ratio` (0.1 = 10 %) and `ns`."""

    ratio: float = 0.1
    ns: int = 50_000

    @property
    def log(self) -> float:
        """The logarithm of 1 + `ratio`."""
        return log1p(self.ratio)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a digest: a word and a short reason. `p`: p-value after correction, or None without a test."""

    word: str
    why: str
    p: float | None = None


@dataclass(frozen=True)
class Case:
    """One digest to judge: A's median over its pairs, its shifts, and its number of new errors.

    `usable`: its shifts over undisturbed blocks. `exact`: the test of its few pairs. `time_ns`: time at stake.
    `failed`: events that failed on both sides but succeeded on the tape, if they exceed the share MAX_FAILED.
    """

    digest: str
    median_a_ns: float | None
    shift: Shift | None
    new_errors: int
    usable: Shifts | None = None
    exact: Exact | None = None
    time_ns: float = 0.0
    failed: int = 0

    @property
    def errors(self) -> str | None:
        """A phrase on the errors that prevent a verdict on times, or None."""
        if self.new_errors:
            return f"{self.new_errors:,} new error{'s' if self.new_errors > 1 else ''}"
        return f"{plural(self.failed, 'event')} failed on both sides, but not on the tape" if self.failed else None

    def side(self, word: str) -> Shift | None:
        """Return the shift that may support this verdict."""
        if self.usable is None:
            return self.shift
        return {SLOWER: self.usable.slower, FASTER: self.usable.faster, SAME: self.usable.same}[word]


@dataclass(frozen=True)
class Conditions:
    """Conditions that apply to all digests.

    `no_claim`: why the runs cannot support any verdict on times. `disturbed`: a phrase on unequal CPU use by other
    programs. `unseen`: why this use is unknown. `rounds`: number of rounds per side.
    """

    no_claim: str | None = None
    disturbed: str | None = None
    unseen: str | None = None
    rounds: int = 1


def judge_all(cases: list[Case], margin: Margin, conditions: Conditions | None = None) -> dict[str, Verdict]:
    """Return the verdict on each digest."""
    conditions = conditions or Conditions()
    testable = [case for case in cases if not case.errors and _not_judgeable(case, conditions) is None]
    rounds_p = UNSEEN_ROUNDS_P if conditions.unseen else ROUNDS_P
    seen = conditions.unseen is None
    slower = _corrected(testable, SLOWER, MIDDLE, rounds_p, seen)
    faster = _corrected(testable, FASTER, MIDDLE, rounds_p, seen)
    tail = _corrected(testable, SLOWER, TAIL, rounds_p, seen)
    verdicts = {}
    for case in cases:
        if errors := case.errors:
            verdicts[case.digest] = Verdict(ERRORS, errors)
        elif (why := _not_judgeable(case, conditions)) is not None:
            verdicts[case.digest] = Verdict(INCONCLUSIVE, why)
    for case, up, down, end in zip(testable, slower, faster, tail, strict=True):
        judge = _judge_few if case.exact else _judge
        verdicts[case.digest] = judge(case, margin, conditions, (up, down, end))
    return verdicts


def _not_judgeable(case: Case, conditions: Conditions) -> str | None:
    """Return why a digest cannot be judged, or None if it can be judged."""
    if conditions.no_claim is not None:
        return conditions.no_claim
    events = case.shift.events if case.shift else 0
    if case.exact is not None:
        if case.exact.pairs >= MIN_PAIRS:
            return None
        wanted = rounds_needed(conditions.rounds, case.exact.pairs, 0, 1, 0)
        if not case.exact.pairs and conditions.disturbed:
            return conditions.disturbed
        return f"{plural(case.exact.pairs, 'undisturbed pair')}, at least {MIN_PAIRS} needed; {wanted}"
    if events == 0:
        return "no event succeeded on both sides"
    if events < MIN_EVENTS:
        return f"{plural(events, 'event')} on both sides, at least {MIN_EVENTS} needed"
    if case.shift is None or case.shift.middle is None:
        return "all events ran at the same time, so their variance is unknown"
    return None


def _judge(case: Case, margin: Margin, conditions: Conditions, p: tuple[float, float, float]) -> Verdict:
    whole, level = case.shift, case.median_a_ns
    assert whole is not None
    assert whole.middle is not None
    slower, faster, same = (case.side(word) for word in (SLOWER, FASTER, SAME))
    if (up := slower and slower.middle) and p[0] <= FALSE_DISCOVERIES and _difference(level, up) >= margin.ns:
        return Verdict(SLOWER, times_as_long(exp(up.shift)), p[0])
    if (down := faster and faster.middle) and p[1] <= FALSE_DISCOVERIES and -_difference(level, down) >= margin.ns:
        return Verdict(FASTER, times_as_long(exp(down.shift)), p[1])
    if slower and slower.tail and p[2] <= FALSE_DISCOVERIES and slower.tail_ns >= TAIL_NS_FACTOR * margin.ns:
        return Verdict(SLOWER, f"{OF_TAIL} {times_as_long(exp(slower.tail.shift))}", p[2])
    test = same and (same.rounds or same.middle)
    if test and same and same.middle:
        if -margin.log < test.low and test.high < margin.log:
            return Verdict(SAME, "within the margin")
        if abs(_difference(level, same.middle)) < margin.ns:
            return Verdict(SAME, f"differs by less than {margin.ns / 1000:g} {MICRO}")
    if conditions.disturbed and test is None:
        return Verdict(INCONCLUSIVE, conditions.disturbed)
    if conditions.unseen and abs(whole.shared) > margin.log:
        ratio = exp(whole.shared)
        return Verdict(INCONCLUSIVE, f"most statements take {ratio:.2f} times as long as in A: {conditions.unseen}")
    crossing = test or whole.rounds or whole.middle
    wanted = rounds_needed(conditions.rounds, MIN_EVENTS, crossing.error, crossing.shift, margin.log)
    if conditions.disturbed and test is not whole.middle and test is not whole.rounds:
        return Verdict(INCONCLUSIVE, f"{conditions.disturbed}; {wanted}")
    low, high = exp(crossing.low), exp(crossing.high)
    return Verdict(UNSTABLE, f"takes {low:.2f} to {high:.2f} times as long as in A (interval too wide); {wanted}")


def _judge_few(case: Case, margin: Margin, conditions: Conditions, p: tuple[float, float, float]) -> Verdict:
    """Judge a digest by the exact test of its few pairs."""
    exact, level = case.exact, float(case.median_a_ns or 0)
    assert exact is not None
    difference = level * (exact.ratio - 1)
    if p[0] <= FALSE_DISCOVERIES and difference >= margin.ns:
        return Verdict(SLOWER, f"{times_as_long(exact.ratio)} ({exact.pairs} pairs)", p[0])
    if p[1] <= FALSE_DISCOVERIES and -difference >= margin.ns:
        return Verdict(FASTER, f"{times_as_long(exact.ratio)} ({exact.pairs} pairs)", p[1])
    if exact.p_beyond <= SAME_P:
        return Verdict(SAME, f"within the margin ({exact.pairs} pairs)")
    if level and exact.spread and abs(difference) + 2 * level * exact.spread < margin.ns:
        return Verdict(SAME, f"differs by less than {margin.ns / 1000:g} {MICRO}")
    error = exact.spread / sqrt(exact.pairs)
    wanted = rounds_needed(conditions.rounds, exact.pairs, error, exact.shift, margin.log)
    return Verdict(INCONCLUSIVE, f"{times_as_long(exact.ratio)} ({exact.pairs} pairs, not certain); {wanted}")


def times_as_long(ratio: float) -> str:
    """Return a ratio of times as a phrase."""
    return f"takes {ratio:.1f} times as long as in A" if ratio >= 10 else f"takes {ratio:.2f} times as long as in A"


def _difference(level: float | None, middle: Test) -> float:
    """Return the middle time of B minus A's level, in ns.

    The result is infinite if A's level is unknown.
    """
    if level is not None:
        return float(level) * (exp(middle.shift) - 1)
    return float("inf") if middle.shift > 0 else float("-inf")


def _corrected(cases: list[Case], word: str, test: str, rounds_p: float, seen: bool) -> list[float]:
    """Return the corrected p-values of the test over blocks.

    A digest counts only if its test over rounds agrees, so the effect exceeds both variances.
    """
    found = [_p(case, word, test, rounds_p, seen) for case in cases]
    few = [case.exact is not None and test == MIDDLE for case in cases]
    times = [case.time_ns for case in cases]
    return discoveries([p for p, _ in found], [tells for _, tells in found], times, few)


def _p(case: Case, word: str, test: str, rounds_p: float, seen: bool) -> tuple[float, bool]:
    """Return (p, whether p may count). The number of pairs or the test over rounds decides whether p may count.

    Disturbed blocks may leave only two of three or more rounds. The test over rounds is then missing, and only the
    middle may get a verdict, against its wider margin (shifts.py). The CPU use of other programs must be known
    (`seen`).
    """
    side = "p_below" if word == FASTER else "p_above"
    if case.exact is not None and test == MIDDLE:
        p = float(getattr(case.exact, side))
        return p, case.exact.counts(p)
    shift, whole = case.side(word), case.shift
    blocks: Test | None = getattr(shift, test, None)
    if shift is None or whole is None or blocks is None:
        return 1.0, False
    rounds = shift.rounds if test == MIDDLE else shift.tail_rounds
    if rounds is None:
        return float(getattr(blocks, side)), whole.rounds is None or (seen and test == MIDDLE)
    return float(getattr(blocks, side)), float(getattr(rounds, side)) <= rounds_p
