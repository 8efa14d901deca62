# SPDX-License-Identifier: Apache-2.0
"""Change points: found where they are, and seldom where there are none."""

import itertools

import numpy as np
import pytest
from querytape.serve.change_points import LEAST, ChangePoint, best_split, chance, change_points


def by_hand(series: list[float]) -> tuple[float, int]:
    """Return the best split, by the paper's formulas (5) to (7), one pair after the other."""
    best, at = -np.inf, 0
    for split in range(LEAST, len(series) - LEAST + 1):
        for end in range(split + LEAST, len(series) + 1):
            x, y = series[:split], series[split:end]
            m, n = len(x), len(y)
            between = 2 / (m * n) * sum(abs(a - b) for a in x for b in y)
            within = [
                sum(abs(a - b) for a, b in itertools.combinations(z, 2)) / (len(z) * (len(z) - 1) / 2) for z in (x, y)
            ]
            quality = m * n / (m + n) * (between - sum(within))
            if quality > best:
                best, at = quality, split
    return best, at


@pytest.mark.parametrize("seed", range(12))
def test_the_best_split_equals_sums_of_sums_by_hand(seed: int) -> None:
    random = np.random.default_rng(seed)
    series = random.normal(size=int(random.integers(4, 14))) + (np.arange(4)[seed % 4] > 2)
    quality, at = best_split(series)
    best, there = by_hand(list(series))
    assert quality == pytest.approx(best)
    assert at == there


@pytest.mark.sampled
@pytest.mark.parametrize(("n", "at"), [(14, 7), (14, 11), (10, 6), (20, 3), (20, 17), (40, 20), (90, 87)])
@pytest.mark.parametrize("direction", [1, -1])
def test_a_new_level_is_found_at_its_first_value(n: int, at: int, direction: int) -> None:
    """Wherever three values of each level are there, up or down."""
    series = np.random.default_rng(n).normal(0, 0.02, n)
    series[at:] += direction * 0.3
    assert [point.at for point in change_points(list(series))] == [at]


def test_a_level_for_a_while_has_a_begin_and_an_end() -> None:
    series = np.random.default_rng(1).normal(0, 0.02, 30)
    series[10:17] += 0.4
    assert [point.at for point in change_points(list(series))] == [10, 17]


@pytest.mark.slow
def test_chance_alone_is_seldom_called_a_change() -> None:
    """Of 300 series without a change about one in a hundred; one outlier is no level; no values, no change."""
    random = np.random.default_rng(5)
    assert sum(bool(change_points(list(random.normal(size=16)))) for _ in range(300)) <= 9
    series = random.normal(0, 0.02, 20)
    series[12] = 3
    assert change_points(list(series)) == []
    for few in ([], [1.0], [1.0, 2.0, 3.0], [5.0] * 30):
        assert change_points(few) == []


def test_it_says_the_same_again() -> None:
    """Its chance does not depend on who asks when; p is what permutations say."""
    series = np.r_[np.zeros(8), np.ones(8)] + np.linspace(0, 0.1, 16)
    assert change_points(list(series)) == change_points(list(series)) == [ChangePoint(8, 0.001)]
    assert chance(series, best_split(series)[0] / 50) > 0.01
