# SPDX-License-Identifier: Apache-2.0
"""The exact test for few pairs, compared with scipy and with manual results."""

import numpy as np
import pytest
import scipy
from querytape.analyze.verdicts.exact import exact_test, few_pairs, rounds_needed, signed_rank_p
from querytape.analyze.verdicts.interference import NONE, Disturbance

MARGIN = 0.0953


@pytest.mark.slow
def test_ranks_without_ties_equal_those_of_scipy() -> None:
    chance = np.random.default_rng(3)
    for n in (1, 5, 6, 12, 29):
        values = chance.normal(0.2, 1, n)
        wanted = scipy.stats.wilcoxon(values, alternative="greater", mode="exact").pvalue
        assert signed_rank_p(values) == pytest.approx(wanted)
    assert signed_rank_p(np.array([1.0, 1.0, 1.0])) == pytest.approx(1 / 8)


@pytest.mark.parametrize(("n", "shift", "found"), [(4, 0.7, False), (5, 0.7, True), (5, 0.15, False), (7, 0.15, True)])
def test_few_pairs_with_the_same_shift_can_be_significant(n: int, shift: float, found: bool) -> None:
    """Four pairs are inconclusive. Five pairs detect a shift beyond twice the margin. Seven pairs detect a shift beyond
    the margin.
    """
    test = exact_test(np.full(n, shift), np.arange(n), MARGIN)
    assert test.pairs == n
    assert (test.p_above < 0.04) is found
    assert test.p_below > 0.9


def test_pairs_of_one_time_block_count_once() -> None:
    """Twenty pairs in one block count as one pair. Pairs that other programs disturbed do not count."""
    assert exact_test(np.full(20, 0.7), np.zeros(20, np.int64), MARGIN).pairs == 1
    rows = {
        "digest": np.array(["x"] * 8),
        "round": np.ones(8, np.int64),
        "block": np.arange(8),
        "a_ns": np.full(8, 10**6),
        "b_ns": np.full(8, 2 * 10**6),
        "moment": np.arange(8),
    }
    assert few_pairs(rows, MARGIN, NONE)["x"].pairs == 8
    flags = np.zeros(128, np.bool_)
    flags[64:67] = True
    assert few_pairs(rows, MARGIN, Disturbance(flags, flags, flags, True))["x"].pairs == 5
    rows["moment"] = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert few_pairs(rows, MARGIN, NONE)["x"].pairs == 2
    rows["round"] = np.array([1, 1, 2, 2, 3, 3, 4, 4])
    assert few_pairs(rows, MARGIN, NONE)["x"].pairs == 4
    assert few_pairs({name: values[:0] for name, values in rows.items()}, MARGIN, NONE) == {}


def test_number_of_required_rounds() -> None:
    """At least one more round is required. Few pairs, or a shift near the margin, require more rounds."""
    assert rounds_needed(1, 1, 0.0, 1.0, 0.0) == "about 7 rounds in total are needed"
    assert rounds_needed(3, 30, 0.01, 0.2, MARGIN) == "about 4 rounds in total are needed"
    assert rounds_needed(3, 30, 0.1, MARGIN, MARGIN) == "more rounds are unlikely to help"


def test_large_shift_within_machine_noise_is_inconclusive() -> None:
    """A digest is twenty times slower, but the machine may cause a shift of that size. The digest is neither "slower"
    nor "same".
    """
    test = exact_test(np.full(20, 3.0), np.arange(20), MARGIN, shared=6.0)
    assert min(test.p_above, test.p_below) > 0.9
    assert test.p_beyond > 0.9
    assert exact_test(np.full(20, 0.0), np.arange(20), MARGIN, shared=6.0).p_beyond < 0.05
