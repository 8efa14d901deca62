# SPDX-License-Identifier: Apache-2.0
"""Test statements that ran only a few times: exactly, by the signs and ranks of their pairs (Wilcoxon 1945).

Pairs of one moment share what the machine did then: their mean counts once. Five pairs can tell only what is
beyond twice the margin, six what is beyond one and a half; from seven on the margin itself counts.
"""

from dataclasses import dataclass
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, Floats, by_digest, places_of
from .interference import Disturbance

MIN_PAIRS = 5
SURE_PAIRS = 7
MARGINS = {5: 2.0, 6: 1.5}  # so many margins have to be exceeded by so few pairs
MAX_P = 0.02  # before correction; five pairs reach 0.031
REACH = 3.42  # standard errors between the margin and a shift that is found with a probability of 80 % at p = 0.005
MAX_ROUNDS = 1000
MOMENTS = 1 << 32  # of a round


@dataclass(frozen=True)
class Exact:
    """Few pairs: their median shift (a logarithm), p of being at or inside the margin, p of being at or beyond it."""

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
        """Whether a p of this test is small enough to count, whatever the correction."""
        return self.pairs == MIN_PAIRS or p <= MAX_P


def exact_test(shifts: Floats, places: NDArray[np.int64], margin: float, shared: float = 0.0) -> Exact:
    """Test the shifts of single pairs; `places`: the moment of each.

    `shared`: what may be the machine's; a difference has to be beyond that as well, and is not the same within it.
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
    """Return the test of each digest of few_pairs.sql, without the pairs that other programs disturbed."""
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
    """Return the exact one-sided p of values that lie above 0: how often random signs reach such a sum of ranks."""
    sizes = np.abs(values)
    _, inverse, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    doubled = (2 * ends - counts + 1)[inverse].astype(np.int64)  # twice the middle rank, so that ties are whole
    reached = int(doubled[values > 0].sum())
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] = ways[rank:] + ways[: len(ways) - rank]
    return float(ways[reached:].sum() / ways.sum())


def rounds_needed(rounds: int, n: int, error: float, shift: float, margin: float) -> str:
    """Return about how many rounds in all would decide, in words; `error`: of a shift from n values in these rounds."""
    gap = abs(abs(shift) - margin)
    by_error = rounds * (REACH * error / gap) ** 2 if gap > 0 else float("inf")
    needed = max(by_error, rounds * SURE_PAIRS / max(n, 1), rounds + 1)
    if needed <= MAX_ROUNDS:
        return f"about {ceil(needed):,} rounds in total would settle it"
    return "more rounds are unlikely to help"
