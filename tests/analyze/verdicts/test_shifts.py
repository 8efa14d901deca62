# SPDX-License-Identifier: Apache-2.0
"""The trimmed test against scipy, stalls and drift that all digests share, intervals."""

import math

import numpy as np
import pytest
import scipy
from querytape.analyze.verdicts.shifts import bootstrap_quantile, measure, trimmed


@pytest.mark.slow
def test_the_trimmed_test_against_scipy() -> None:
    """Without trimming it is Student's test; with it, Yuen's, by the textbook's steps."""
    chance = np.random.default_rng(3)
    values = chance.normal(0.1, 0.2, 40)
    test = trimmed(values, (0.05, 0.05), 0.0)
    wanted = scipy.stats.ttest_1samp(values, 0.05, alternative="greater")
    assert test.p_above == pytest.approx(wanted.pvalue)
    low, high = scipy.stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (test.low, test.high) == pytest.approx((low, high))
    ordered = sorted(values)
    kept, cut = ordered[8:32], 8
    winsorised = [ordered[cut]] * cut + kept + [ordered[-cut - 1]] * cut
    error = np.std(winsorised, ddof=1) / (0.6 * math.sqrt(40))
    yuen = trimmed(values, (0.05, 0.05), 0.2)
    assert yuen.shift == pytest.approx(np.mean(kept))
    assert yuen.p_above == pytest.approx(scipy.stats.t.sf((np.mean(kept) - 0.05) / error, 23))


def blocks(shift: float, digests: int = 6, stall: bool = False) -> dict[str, np.ndarray]:
    """Return the columns of blocks.sql: 40 blocks of one round, where every digest shifts by so much."""
    chance = np.random.default_rng(7)
    places = np.tile(np.arange(40), digests)
    values = shift + chance.normal(0, 0.02, 40 * digests) + (1.5 * (places == 11) if stall else 0)
    ones = np.ones(40 * digests, dtype=np.int64)
    return {
        "digest": np.repeat([f"{n:016x}" for n in range(digests)], 40),
        "round": ones,
        "block": places,
        "n": 25 * ones,
        "shift": values,
        "level_a": np.full(40 * digests, 13.0),
        "paired": ones.astype(np.bool_),
    }


NO_TAILS = {name: np.array([]) for name in ("digest", "round", "block", "n", "tail_a_ns", "tail_b_ns")}


def test_a_stall_is_excluded() -> None:
    """A block where all digests jump together moves no digest's estimate."""
    for shift in measure(blocks(0.0, stall=True), NO_TAILS, 0.1).values():
        assert shift.middle is not None
        assert abs(shift.middle.shift) < 0.02
        assert shift.tail is None


def test_what_a_full_machine_may_have_done_to_few_digests() -> None:
    """Where others can't be told from the servers, what three digests share counts as theirs; two say nothing of it."""
    for digests, doubted in ((3, True), (2, False)):
        for shift in measure(blocks(0.7, digests), NO_TAILS, 0.1, seen=False).values():
            assert shift.middle is not None
            assert (shift.middle.p_above > 0.5) == doubted
        assert all(shift.shared == 0 for shift in measure(blocks(0.7, digests), NO_TAILS, 0.1).values())


def test_a_drift_of_one_round_is_the_machines() -> None:
    """What all digests share, up to 15 %, widens the margin to that side; more is taken for real."""
    drifted = next(iter(measure(blocks(0.12), NO_TAILS, 0.1).values())).middle
    real = next(iter(measure(blocks(0.4), NO_TAILS, 0.1).values())).middle
    assert drifted is not None
    assert real is not None
    assert drifted.p_above > 0.5
    assert real.p_above < 1e-6


def test_no_rows_no_shifts() -> None:
    """Two runs without an event in common."""
    nothing = {name: values[:0] for name, values in blocks(0.0).items()}
    assert measure(nothing, NO_TAILS, 0.1) == {}


def test_the_interval_of_p95_holds_the_ratio() -> None:
    """Blocks drawn with replacement; too few blocks give no interval."""
    chance = np.random.default_rng(5)
    a = 1e6 * np.exp(chance.normal(0, 0.1, 20))
    tails = {"digest": np.repeat("d", 20), "n": np.full(20, 30), "tail_a_ns": a, "tail_b_ns": 1.5 * a}
    low, high = bootstrap_quantile(tails)["d"]
    assert low == pytest.approx(1.5)
    assert high == pytest.approx(1.5)
    assert bootstrap_quantile({name: values[:3] for name, values in tails.items()}) == {}
