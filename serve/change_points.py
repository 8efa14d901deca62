# SPDX-License-Identifier: Apache-2.0
"""Finds level changes in a series of measurements by E-Divisive, which assumes no distribution.

Source: Matteson and James, A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, Journal of
the American Statistical Association 109 (2014), with exponent 1. A split is good if the values of its two sides are far
apart, relative to the distances within each side (energy distance). A permutation test decides whether the best split
is significant. Then each side is examined separately.

MongoDB monitors its performance tests with this method. Source: Daly et al., The Use of Change Point Detection to
Identify Software Performance Regressions in a Continuous Integration System, ICPE 2020.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LEVEL = 0.01
PERMUTATIONS = 999
LEAST = 2  # minimum number of values on each side of a split
SEED = 20140306
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint:
    """The first value of a new level, and the probability of an equally good split by chance."""

    at: int
    p: float


def change_points(values: Sequence[float], level: float = LEVEL) -> list[ChangePoint]:
    """Return the change points of finite values in order. The result is deterministic."""
    series = np.asarray(values, dtype=np.float64)
    found: list[ChangePoint] = []
    waiting = [(0, len(series))]
    while waiting:
        begin, end = waiting.pop()
        if end - begin < 2 * LEAST:
            continue
        best, at = best_split(series[begin:end])
        p = chance(series[begin:end], best, level)
        if p <= level:
            found.append(ChangePoint(begin + at, p))
            waiting += [(begin, begin + at), (begin + at, end)]
    return sorted(found, key=lambda each: each.at)


def best_split(series: Values) -> tuple[float, int]:
    """Return the quality of the best split of a series, and the index of the first value after the split.

    The right side may end before the series does. A temporary level is therefore also found.
    """
    n = len(series)
    sums = np.zeros((n + 1, n + 1))
    np.cumsum(np.cumsum(np.abs(series[:, None] - series[None, :]), axis=0), axis=1, out=sums[1:, 1:])
    own = np.diagonal(sums)
    left, right = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    possible = (left >= LEAST) & (right >= LEAST)
    m, k = np.where(possible, left, LEAST), np.where(possible, right, LEAST)
    between = sums - own[:, None]
    within_left = own[:, None] / (m * (m - 1))
    within_right = (own[None, :] - 2 * sums + own[:, None]) / (k * (k - 1))
    quality = np.where(possible, m * k / (m + k) * (2 * between / (m * k) - within_left - within_right), -np.inf)
    at = int(np.argmax(quality))
    return float(quality.flat[at]), at // (n + 1)


def chance(series: Values, best: float, level: float = LEVEL) -> float:
    """Return the share of permutations of the values whose best split is at least as good.

    Stops early when the share certainly exceeds `level`.
    """
    if float(np.ptp(series)) == 0:
        return 1.0
    random = np.random.default_rng(SEED)
    enough = level * (PERMUTATIONS + 1)
    as_good = 1
    for tried in range(1, PERMUTATIONS + 1):
        as_good += best_split(random.permutation(series))[0] >= best * (1 - 1e-9)
        if as_good > enough:
            return as_good / (tried + 1)
    return as_good / (PERMUTATIONS + 1)
