# SPDX-License-Identifier: Apache-2.0
"""The correction for false discoveries. It equals that of scipy, but tests far inside the margin have a smaller effect."""

import random

import numpy as np
import pytest
import scipy
from querytape.analyze.verdicts.discoveries import corrected, discoveries, weights_of


@pytest.mark.slow
def test_false_discovery_correction_equals_that_of_scipy() -> None:
    """The test covers any number of p-values, ties, values of 1, and an empty list."""
    rng = random.Random(5)
    for n in (1, 2, 7, 500):
        found = [rng.choice([rng.random(), rng.random() ** 6, 1.0, 0.0, 0.25]) for _ in range(n)]
        assert np.allclose(corrected(found), scipy.stats.false_discovery_control(found, method="bh"))
    assert corrected([]) == []
    assert discoveries([], [], [], []) == []


@pytest.mark.parametrize("inside", [0, 1, 19, 10_000])
def test_digests_far_inside_the_margin_do_not_weaken_other_digests(inside: int) -> None:
    found = discoveries([0.02] + [0.9] * inside, [True] * (inside + 1), [1.0] * (inside + 1), [False] * (inside + 1))
    assert found == pytest.approx([0.04] + [1.0] * inside)


def test_unconfirmed_small_p_counts_as_a_test() -> None:
    """A small p-value that the rounds do not confirm is no discovery, but it increases the number of tests."""
    alone = discoveries([0.01, 0.9], [True, True], [1.0, 1.0], [False] * 2)
    beside = discoveries([0.01, 0.001], [True, False], [1.0, 1.0], [False] * 2)
    assert alone == pytest.approx([0.02, 1.0])
    assert beside == pytest.approx([0.04, 1.0])


def test_half_of_the_weight_depends_on_time() -> None:
    """Of the remaining tests, the heavy digest is a discovery. The light digest with the same p-value is not."""
    heavy, light, _ = discoveries([0.03, 0.03, 0.99], [True] * 3, [99.0, 1.0, 10_000.0], [False] * 3)
    assert heavy < 0.1 < light
    assert weights_of([99.0, 1.0]) == pytest.approx([1.49, 0.51])
    assert weights_of([0.0, 0.0]) == [1.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(("digests", "inside"), [(1, 0), (20, 0), (20, 19), (200, 100)])
def test_at_most_10_percent_of_families_are_wrong(digests: int, inside: int) -> None:
    """If no digest is beyond the margin, at most 10 % of the families report a discovery. The share of digests far
    inside the margin does not matter.
    """
    chance = np.random.default_rng(digests + inside)
    wrong = 0
    for _ in range(2000):
        z = chance.normal(size=digests) - np.where(np.arange(digests) < inside, 4.0, 0.0)
        wrong += (
            min(discoveries(scipy.stats.norm.sf(z).tolist(), [True] * digests, [1.0] * digests, [False] * digests))
            <= 0.1
        )
    assert wrong / 2000 <= 0.12


def test_all_exact_tests_are_kept() -> None:
    found = discoveries([0.031] + [0.9] * 19, [True] * 20, [0.5] + [0.5 / 19] * 19, [True] * 20)
    assert found == pytest.approx([20 * 0.031 / (0.5 + 0.5 * 20 * 0.5)] + [1.0] * 19)
    assert discoveries([0.031, 0.9], [True] * 2, [1.0] * 2, [True, False]) == pytest.approx([0.031, 1.0])
