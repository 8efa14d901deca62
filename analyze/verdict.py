# SPDX-License-Identifier: Apache-2.0
"""Is a digest slower, and is it real? From the paired times of two runs.

One run each can't measure its own variance, so the rules ask for more than a small p-value: an interval that leaves the
margin, an absolute difference that somebody would notice, and agreement of the parts of the run (a stall hits one part,
a regression all of them). docs/report.md explains them with examples.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

MARGIN = 0.2  # ratios within 1/1.2 .. 1.2 are not called: machines differ by more than 10 % from run to run
MARGIN_NS = 50_000
FEWEST_PAIRS = 30
FEWEST_SLICES = 3
AGREEMENT = 0.75
TAIL_AGREEMENT = 0.65  # quantiles of a part are noisier than its median
TAIL_RATIO = 1.8
TAIL_NS = 1_000_000
ERROR_RATE = 0.01  # of a false call in the whole report, shared by its digests

SLOWER, FASTER, SAME, UNSTABLE, CANNOT_TELL, ERRORS = (
    "slower",
    "faster",
    "same",
    "unstable",
    "cannot tell",
    "errors changed",
)


@dataclass(frozen=True)
class Verdict:
    """A word and the reason for it, in a few words."""

    word: str
    why: str


def z_for(digests: int) -> float:
    """Return the normal quantile that keeps ERROR_RATE over so many digests (Bonferroni, two-sided)."""
    return NormalDist().inv_cdf(1 - ERROR_RATE / (2 * max(1, digests)))


def judge(pair: dict[str, Any] | None, new_errors: int) -> Verdict:
    """Return the verdict on one digest from its row of pairs.sql (None = no event answered in both runs)."""
    if new_errors:
        return Verdict(ERRORS, f"{new_errors:,} new error{'s' if new_errors > 1 else ''}")
    if pair is None or pair["n"] < FEWEST_PAIRS:
        n = 0 if pair is None else pair["n"]
        return Verdict(CANNOT_TELL, f"{n} pairs; {FEWEST_PAIRS} are needed")
    difference = pair["median_b_ns"] - pair["median_a_ns"]
    if pair["ratio_low"] > 1 + MARGIN and difference >= MARGIN_NS:
        return _if_agreed(pair, "slower", Verdict(SLOWER, f"median x{pair['ratio']:.2f}"))
    if pair["ratio_high"] < 1 / (1 + MARGIN) and -difference >= MARGIN_NS:
        return _if_agreed(pair, "faster", Verdict(FASTER, f"median x{pair['ratio']:.2f}"))
    if pair["slices"] and pair["tail_ns"] >= TAIL_NS and pair["tail_ratio"] >= TAIL_RATIO:
        return _if_agreed(pair, "tail_slower", Verdict(SLOWER, f"tail: p90 x{pair['tail_ratio']:.1f}"))
    if pair["ratio_low"] >= 1 / (1 + MARGIN) and pair["ratio_high"] <= 1 + MARGIN:
        return Verdict(SAME, "within the margin")
    if abs(difference) < MARGIN_NS:
        return Verdict(SAME, "differs by less than 50 us")
    return Verdict(UNSTABLE, "its interval crosses the margin")


def _if_agreed(pair: dict[str, Any], which: str, verdict: Verdict) -> Verdict:
    """A difference counts only where the parts of the run agree on it."""
    if pair["slices"] < FEWEST_SLICES:
        return verdict if which != "tail_slower" else Verdict(UNSTABLE, "too short to tell a stall from a tail")
    wanted = TAIL_AGREEMENT if which == "tail_slower" else AGREEMENT
    if pair[which] >= wanted * pair["slices"]:
        return verdict
    return Verdict(UNSTABLE, f"in {pair[which]} of {pair['slices']} parts of the run only")
