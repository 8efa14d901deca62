# SPDX-License-Identifier: Apache-2.0
"""The trimmed test compared with scipy, confidence intervals, and the stalls and drift that all digests share."""

import math
from typing import Any

import numpy as np
import pytest
import scipy
from querytape.analyze.verdicts import shifts
from querytape.analyze.verdicts.shifts import (
    MIN_BLOCKS,
    MIN_ROUNDS,
    MIN_TAILS,
    Shift,
    bootstrap_quantile,
    measure,
    trimmed,
)


@pytest.mark.slow
def test_trimmed_test_equals_scipy() -> None:
    """The test without trimming is Student's t-test. The test with trimming is Yuen's test, computed as in the
    textbook.
    """
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
    """Return the columns of blocks.sql for 40 blocks of one round. Each digest has the given shift."""
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


def test_block_in_which_all_digests_jump_changes_no_estimate() -> None:
    for shift in measure(blocks(0.0, stall=True), NO_TAILS, 0.1).values():
        assert shift.middle is not None
        assert abs(shift.middle.shift) < 0.02
        assert shift.tail is None


def test_shared_shift_on_a_full_machine_widens_the_margin() -> None:
    """On a full machine, the effects of other programs and of the servers cannot be separated. A shift shared by three
    digests then counts as an effect of other programs. Two digests are too few.
    """
    for digests, doubted in ((3, True), (2, False)):
        for shift in measure(blocks(0.7, digests), NO_TAILS, 0.1, seen=False).values():
            assert shift.middle is not None
            assert (shift.middle.p_above > 0.5) == doubted
        assert all(shift.shared == 0 for shift in measure(blocks(0.7, digests), NO_TAILS, 0.1).values())


def test_drift_of_all_digests_in_a_round_is_attributed_to_the_machine() -> None:
    """A shift that all digests share widens the margin in the direction of the shift, by up to 15 %. A larger shift
    counts as real.
    """
    drifted = next(iter(measure(blocks(0.12), NO_TAILS, 0.1).values())).middle
    real = next(iter(measure(blocks(0.4), NO_TAILS, 0.1).values())).middle
    assert drifted is not None
    assert real is not None
    assert drifted.p_above > 0.5
    assert real.p_above < 1e-6


def test_runs_without_a_common_event_have_no_shifts() -> None:
    nothing = {name: values[:0] for name, values in blocks(0.0).items()}
    assert measure(nothing, NO_TAILS, 0.1) == {}


def test_interval_of_p95_contains_the_ratio() -> None:
    """The interval comes from resampled blocks. Too few blocks give no interval."""
    chance = np.random.default_rng(5)
    a = 1e6 * np.exp(chance.normal(0, 0.1, 20))
    tails = {"digest": np.repeat("d", 20), "n": np.full(20, 30), "tail_a_ns": a, "tail_b_ns": 1.5 * a}
    low, high = bootstrap_quantile(tails)["d"]
    assert low == pytest.approx(1.5)
    assert high == pytest.approx(1.5)
    assert bootstrap_quantile({name: values[:3] for name, values in tails.items()}) == {}


MARGIN = math.log1p(0.1)
Row = tuple[str, int, int, int, float]


def columns(rows: list[Row], levels: dict[int, float] | None = None, **more: Any) -> dict[str, np.ndarray]:
    """Return the columns of blocks.sql from tuples (digest, round, block, n, shift). `levels` are A's levels by round."""
    digest, round_, block, n, shift = zip(*sorted(rows), strict=True)
    return {
        "digest": np.array(digest),
        "round": np.array(round_),
        "block": np.array(block),
        "n": np.array(n),
        "shift": np.array(shift),
        "level_a": np.array([(levels or {}).get(number, 13.0) for number in round_]),
        "paired": np.ones(len(n), dtype=np.bool_),
        **more,
    }


def spread(digests: int, blocks: int, shift: float, rounds: int = 1, noise: float = 0.05) -> list[Row]:
    """Return rows of digests with the given shift. The noise of each digest has a mean of zero."""
    return [
        (f"{d:x}", r, b, 10, shift + noise * (-1) ** (b + d))
        for d in range(digests)
        for r in range(1, rounds + 1)
        for b in range(blocks)
    ]


def margins_of(test: shifts.Test) -> tuple[float, float]:
    """Return the margins of a test, computed from its p-values."""
    up = test.shift + test.error * float(scipy.stats.t.ppf(test.p_above, test.freedom))
    down = -test.shift + test.error * float(scipy.stats.t.ppf(test.p_below, test.freedom))
    return down, up


def one(rows: list[Row], **more: Any) -> Shift:
    return next(iter(measure(columns(rows, **more), NO_TAILS, MARGIN).values()))


@pytest.mark.parametrize(
    ("shift", "digests", "rounds", "wider"),
    [
        (0.12, 6, 1, (0.0, 0.12)),  # the margin grows only in the direction of the drift
        (-0.12, 6, 1, (0.12, 0.0)),
        (0.12, 5, 2, (0.0, 0.12)),  # two rounds are too few
        (0.12, 5, MIN_ROUNDS, (0.0, 0.0)),  # three rounds are enough
        (0.12, 4, 1, (0.0, 0.0)),  # too few digests share the drift
        (0.01, 6, 1, (0.0, 0.0)),  # noise
        (0.16, 6, 1, (0.0, 0.0)),  # too large for a drift
        (-0.16, 6, 1, (0.0, 0.0)),
    ],
)
def test_shared_drift_widens_one_margin(shift: float, digests: int, rounds: int, wider: tuple[float, float]) -> None:
    """The margin of the test grows in the direction of the shift that most events share. This requires enough digests
    and few rounds.
    """
    found = one(spread(digests, 20 // rounds, shift, rounds)).middle
    assert found is not None
    assert margins_of(found) == pytest.approx((MARGIN + wider[0], MARGIN + wider[1]), abs=0.006)


def test_drift_is_weighted_by_events() -> None:
    """The drift is the shift of the median event. Digests with more events therefore count more."""
    rows = spread(6, 20, 0.05)
    heavy = [(d, r, b, 10 if d != "5" else 1000, s if d != "5" else s + 0.05) for d, r, b, _, s in rows]
    found = one(heavy).middle
    assert found is not None
    assert margins_of(found)[1] == pytest.approx(MARGIN + 0.10, abs=0.006)
    alone = one(spread(6, 20, 0.05)).middle
    assert alone is not None
    assert margins_of(alone)[1] == pytest.approx(MARGIN + 0.05, abs=0.006)


def test_too_few_blocks_rounds_or_slow_events_give_no_test() -> None:
    assert one(spread(1, MIN_BLOCKS, 0.3)).middle is not None
    assert one(spread(1, MIN_BLOCKS - 1, 0.3)).middle is None
    assert one(spread(1, 4, 0.3, MIN_ROUNDS)).rounds is not None
    assert one(spread(1, 12, 0.3, MIN_ROUNDS - 1)).rounds is None
    for blocks, wanted in ((MIN_TAILS, True), (MIN_TAILS - 1, False)):
        tails = {
            "digest": np.repeat("0", blocks),
            "round": np.ones(blocks, dtype=np.int64),
            "n": np.full(blocks, 20),
            "tail_a_ns": np.full(blocks, 1000.0) + np.arange(blocks),
            "tail_b_ns": np.full(blocks, 3000.0) + 9 * np.arange(blocks),
        }
        found = measure(columns(spread(1, 10, 0.0)), tails, MARGIN)["0"]
        assert (found.tail is not None) is wanted
        assert found.tail_ns == (float(np.median(2000 + 8 * np.arange(blocks))) if wanted else 0.0)
        assert bool(bootstrap_quantile(tails)) is wanted
        if found.tail is not None:
            assert margins_of(found.tail) == pytest.approx((2 * MARGIN, 2 * MARGIN), rel=0.01)
            assert found.tail.shift == pytest.approx(math.log(3), abs=0.02)


def test_rounds_are_weighted_by_events() -> None:
    """The shift of a round is the mean over its events. The test of rounds is not trimmed. The levels of A's rounds
    provide the noise.
    """
    rows = [
        ("d", r, b, 10 + 90 * (b == 0), 0.05 * r + (0.1 if b == 0 else 0.0)) for r in (1, 2, 3, 4) for b in range(3)
    ]
    found = one(rows, levels={1: 13.0, 2: 13.1, 3: 13.4, 4: 13.2})
    means = [0.05 * r + 0.1 * 100 / 120 for r in (1, 2, 3, 4)]
    assert found.rounds is not None
    assert found.rounds.shift == pytest.approx(np.mean(means))
    wanted = scipy.stats.ttest_1samp(means, MARGIN, alternative="greater")
    assert found.rounds.p_above == pytest.approx(wanted.pvalue)
    assert found.rounds.freedom == 3
    assert found.noise == pytest.approx(np.std([13.0, 13.1, 13.4, 13.2], ddof=1))
    assert found.events == 480
    assert one(spread(1, 9, 0.1)).noise is None


def test_digest_is_paired_only_if_all_of_its_blocks_are_paired() -> None:
    rows = spread(1, 10, 0.1)
    flags = np.ones(10, dtype=np.bool_)
    assert one(rows, paired=flags).paired
    flags = flags.copy()
    flags[3] = False
    assert not one(rows, paired=flags).paired


@pytest.mark.parametrize(("jump", "excluded"), [(0.2, False), (0.3, True), (-0.3, True), (-0.2, False)])
def test_stalls_of_one_side_are_excluded(jump: float, excluded: bool) -> None:
    """A time block in which all digests jump by at least a quarter is excluded. A smaller jump counts."""
    rows = [(d, r, b, n, s + (jump if b == 4 else 0.0)) for d, r, b, n, s in spread(3, 20, 0.0)]
    assert one(rows).events == (190 if excluded else 200)


def test_run_that_mostly_stalls_is_measured_with_all_blocks() -> None:
    """If more than half of the blocks would be stalls, no block is excluded."""
    for stalls, left in ((9, 110), (11, 200)):
        rows = [(d, r, b, n, s + (0.4 * (-1) ** b if b < stalls else 0.0)) for d, r, b, n, s in spread(3, 20, 0.0)]
        assert one(rows).events == left


def test_digest_that_ran_only_in_a_stall_is_measured() -> None:
    rows = [(d, r, b, n, s + (0.45 if b == 4 else 0.0)) for d, r, b, n, s in spread(3, 20, 0.0)]
    rows.append(("z", 1, 4, 7, 0.9))
    found = measure(columns(rows), NO_TAILS, MARGIN)
    assert found["z"].events == 7
    assert found["0"].events == 190


def test_shared_variation_increases_the_error() -> None:
    """A fluctuating machine makes the mean uncertain. The error uses the variance over blocks and grows if neighbouring
    blocks correlate.
    """
    wander = [0.03 * math.sin(b / 3) for b in range(40)]
    rows = [(f"{d:x}", 1, b, 10, wander[b]) for d in range(5) for b in range(40)]
    found = one(rows).middle
    assert found is not None
    series = np.array(wander) - np.median(wander)
    steps = series - series.mean()
    memory = float((steps[1:] * steps[:-1]).sum() / (steps**2).sum())
    assert 0.5 < memory < 0.95
    error = series.std(ddof=1) / math.sqrt(40) * math.sqrt((1 + memory) / (1 - memory))
    assert found.error == pytest.approx(error, rel=1e-6)
    turning = [(f"{d:x}", 1, b, 10, 0.03 * (-1) ** b) for d in range(5) for b in range(40)]
    found = one(turning).middle
    assert found is not None
    assert found.error == pytest.approx(0.03 * math.sqrt(40 / 39) / math.sqrt(40), rel=1e-6)  # negative counts as zero


def test_smallest_detectable_ratio() -> None:
    """The smallest detectable ratio would be found in four of five cases at p = 0.005. It is computed from rounds if
    possible, otherwise from blocks.
    """
    for rounds in (1, 3):
        found = one(spread(1, 12, 0.1, rounds))
        test = found.rounds or found.middle
        assert test is not None
        reach = scipy.stats.t.ppf(0.995, test.freedom) + scipy.stats.t.ppf(0.8, test.freedom)
        assert found.detectable == pytest.approx(math.exp(reach * test.error))
    assert one(spread(1, 2, 0.1)).detectable is None


def test_interval_has_90_percent_confidence() -> None:
    """The interval and both p-values use the t-distribution with the degrees of freedom that remain after trimming."""
    found = one(spread(1, 20, 0.1)).middle
    assert found is not None
    assert found.freedom == 20 - 2 * 2 - 1  # 10 % at each end is trimmed
    reach = float(scipy.stats.t.ppf(0.95, found.freedom)) * found.error
    assert (found.low, found.high) == pytest.approx((found.shift - reach, found.shift + reach))
    assert found.p_below == pytest.approx(scipy.stats.t.cdf((found.shift + MARGIN) / found.error, found.freedom))


def test_interval_of_p95_is_computed_from_blocks() -> None:
    """The interval contains 95 % of the resampled values, which is about 1.96 standard errors on each side. Equal seeds
    give equal intervals.
    """
    chance = np.random.default_rng(9)
    ratios = chance.normal(0.2, 0.3, 100)
    tails = {"digest": np.repeat("d", 100), "n": np.full(100, 20), "tail_a_ns": np.full(100, 1e6)}
    tails["tail_b_ns"] = 1e6 * np.exp(ratios)
    low, high = bootstrap_quantile(tails)["d"]
    wide = 2 * 1.96 * ratios.std() / 10
    assert math.log(high) - math.log(low) == pytest.approx(wide, rel=0.15)
    assert (math.log(high) + math.log(low)) / 2 == pytest.approx(ratios.mean(), abs=0.02)
    assert bootstrap_quantile(tails)["d"] == (low, high)
