# SPDX-License-Identifier: Apache-2.0
"""Detection of change points. Real changes are found, and false changes are rare."""

import itertools

import numpy as np
import pytest
from querytape.serve.change_points import LEAST, ChangePoint, best_split, chance, change_points


def by_hand(series: list[float]) -> tuple[float, int]:
    """Return the best split by formulas (5) to (7) of the paper, computed pair by pair."""
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
def test_best_split_of_a_series_equals_the_manual_sums(seed: int) -> None:
    random = np.random.default_rng(seed)
    series = random.normal(size=int(random.integers(4, 14))) + (np.arange(4)[seed % 4] > 2)
    quality, at = best_split(series)
    best, there = by_hand(list(series))
    assert quality == pytest.approx(best)
    assert at == there


@pytest.mark.sampled
@pytest.mark.parametrize(("n", "at"), [(14, 7), (14, 11), (10, 6), (20, 3), (20, 17), (40, 20), (90, 87)])
@pytest.mark.parametrize("direction", [1, -1])
def test_new_level_of_a_series_is_found_at_its_first_value(n: int, at: int, direction: int) -> None:
    """A level needs at least three values. The new level may be higher or lower."""
    series = np.random.default_rng(n).normal(0, 0.02, n)
    series[at:] += direction * 0.3
    assert [point.at for point in change_points(list(series))] == [at]


def test_temporary_level_of_a_series_has_a_start_and_an_end() -> None:
    series = np.random.default_rng(1).normal(0, 0.02, 30)
    series[10:17] += 0.4
    assert [point.at for point in change_points(list(series))] == [10, 17]


@pytest.mark.slow
def test_noise_is_rarely_called_a_change() -> None:
    """About 1 of 100 random series has a false change. One outlier is no level. An empty series has no change."""
    random = np.random.default_rng(5)
    assert sum(bool(change_points(list(random.normal(size=16)))) for _ in range(300)) <= 9
    series = random.normal(0, 0.02, 20)
    series[12] = 3
    assert change_points(list(series)) == []
    for few in ([], [1.0], [1.0, 2.0, 3.0], [5.0] * 30):
        assert change_points(few) == []


def test_result_is_reproducible() -> None:
    """The random permutations do not depend on earlier calls. The p-value is the proportion of permutations whose best
    split is equal or better.
    """
    series = np.r_[np.zeros(8), np.ones(8)] + np.linspace(0, 0.1, 16)
    assert change_points(list(series)) == change_points(list(series)) == [ChangePoint(8, 0.001)]
    assert chance(series, best_split(series)[0] / 50) > 0.01
