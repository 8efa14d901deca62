# SPDX-License-Identifier: Apache-2.0
"""Test statements with few executions exactly, by the signs and ranks of their pairs (Wilcoxon 1945).

Pairs of one moment share the state of the machine, so their mean counts once. Five pairs can only show a shift beyond
twice the margin, and six pairs beyond 1.5 times the margin. From seven pairs on, the margin itself applies.
"""

from dataclasses import dataclass
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, Floats, by_digest, places_of
from .interference import Disturbance

MIN_PAIRS = 5
SURE_PAIRS = 7
MARGINS = {5: 2.0, 6: 1.5}  # number of pairs: factor of the margin that these pairs must exceed
MAX_P = 0.02  # largest p that counts, before correction; five pairs reach 0.031 at best
REACH = 3.42  # distance from the margin, in standard errors, that is detected with a probability of 80 % at p = 0.005
MAX_ROUNDS = 1000
MOMENTS = 1 << 32  # moments per round


@dataclass(frozen=True)
class Exact:
    """The test of few pairs. `shift`: median shift, as a logarithm.

    `p_beyond`: p-value of a shift at or beyond the margin.

    `p_above` and `p_below`: p-values of a shift at or inside the margin, tested for slower and for faster.
    """

    pairs: int
    shift: float
    spread: float
    p_above: float
    p_below: float
    p_beyond: float

    @property
    def ratio(self) -> float:
        """The shift as a ratio of B over A."""
        return exp(self.shift)

    def counts(self, p: float) -> bool:
        """Return whether a p-value of this test is small enough to count before correction."""
        return self.pairs == MIN_PAIRS or p <= MAX_P


def exact_test(shifts: Floats, places: NDArray[np.int64], margin: float, shared: float = 0.0) -> Exact:
    """Test the shifts of single pairs. `places`: the moment of each pair.

    `shared`: a shift that the machine may have caused. A difference must exceed the margin by more than this shift.
    With a smaller difference beyond the margin, the digest counts neither as different nor as the same.
    """
    _, inverse = np.unique(places, return_inverse=True)
    values = np.bincount(inverse, shifts) / np.maximum(np.bincount(inverse), 1)
    n = len(values)
    bound = MARGINS.get(n, 1.0) * (margin + shared)
    return Exact(
        pairs=n,
        shift=float(np.median(values)) if n else 0.0,
        spread=float(values.std(ddof=1)) if n > 1 else 0.0,
        p_above=signed_rank_p(values - bound) if n else 1.0,
        p_below=signed_rank_p(-values - bound) if n else 1.0,
        p_beyond=max(signed_rank_p(margin - values), signed_rank_p(values + margin)) if n else 1.0,
    )


def few_pairs(columns: Columns, margin: float, disturbance: Disturbance, shared: float = 0.0) -> dict[str, Exact]:
    """Return the test of each digest in few_pairs.sql, without the pairs that other programs disturbed."""
    found = {}
    for digest, rows in by_digest(columns):
        a, b = rows["a_ns"].astype(np.float64), rows["b_ns"].astype(np.float64)
        shifts = np.log(np.maximum(b, 1) / np.maximum(a, 1))
        places = places_of(rows)
        flags = disturbance.b_more if np.median(shifts) > 0 else disturbance.a_more
        calm = ~((places < len(flags)) & flags[np.minimum(places, len(flags) - 1)])
        moments = rows["round"].astype(np.int64) * MOMENTS + rows["moment"].astype(np.int64)
        found[digest] = exact_test(shifts[calm], moments[calm], margin, shared)
    return found


def signed_rank_p(values: Floats) -> float:
    """Return the exact one-sided p for values above 0: the probability that random signs reach this sum of ranks."""
    sizes = np.abs(values)
    ordered = np.sort(sizes)
    # twice the mean rank, so that tied ranks are integers
    doubled = ordered.searchsorted(sizes, "left") + ordered.searchsorted(sizes, "right") + 1
    reached = int(doubled[values > 0].sum())
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] = ways[rank:] + ways[: len(ways) - rank]
    return float(ways[reached:].sum() / ways.sum())


def rounds_needed(rounds: int, n: int, error: float, shift: float, margin: float) -> str:
    """Return a phrase with the total number of rounds that would give a verdict.

    `error`: standard error of the shift, from `n` values in `rounds` rounds.
    """
    gap = abs(abs(shift) - margin)
    by_error = rounds * (REACH * error / gap) ** 2 if gap > 0 else float("inf")
    needed = max(by_error, rounds * SURE_PAIRS / max(n, 1), rounds + 1)
    if needed <= MAX_ROUNDS:
        return f"about {ceil(needed):,} rounds in total are needed"
    return "more rounds are unlikely to help"
