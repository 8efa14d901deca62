# SPDX-License-Identifier: Apache-2.0
"""Measure how far each digest's times shifted, by tests on blocks of time, because single events are not independent.

The value of a block is the mean logarithm of B's times over A's. Both times are of the same event if events are paired.
Its variance has two parts:

- The shared part affects all digests, for example a slow phase of the machine. It is the mean over the digests in a
  block. A block in which the shared part jumps by a quarter or more contains a stall of one side. Such blocks are
  excluded here and listed as stalls. For the other blocks, the variance of the mean is corrected for autocorrelation
  (lag 1, as of an AR(1) process).
- The rest belongs to the digest itself. Yuen's trimmed t-test (Yuen 1974; one sample: Tukey and McLaughlin 1963)
  excludes a tenth of the values at both ends, which contain stalls.

One or two rounds do not show how much the runs of one server differ. A shift of up to 15 % that all digests share may
then come from the machine. The margin on that side is widened by this shift. A larger shared shift is treated as real.
If the CPU use of other programs is unknown, a shared shift of any size may come from other programs. It may then affect
digests differently. The margin is then widened by twice the shift.

Blocks that other programs disturbed (interference.py) are left out. "slower" ignores blocks with more use by others
during B. "faster" ignores blocks with more use by others during A. "same" ignores both kinds if the servers cannot have
caused the difference.

With several rounds, the means of the rounds are tested as well. This variance includes the differences between two
starts of one server. The larger p counts.
"""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
import scipy  # parts load on first use: `scipy.special` takes a third of a second
from numpy.typing import NDArray

from .columns import BLOCKS, Columns, Floats, by_digest, places_of
from .interference import Disturbance

TRIM = 0.1
CLIP = 0.5  # limit for the distance of a block's value from the median of its digest
STALL = 0.25  # logarithm; a block is a stall if the shift of all digests jumps by more
MAX_STALLS = 0.5
MIN_BLOCKS = 8
MIN_TAILS = 6
MIN_ROUNDS = 3
RESAMPLES = 400
RUN_NOISE, RUN_DRIFT = 0.02, 0.15
UNSEEN_FACTOR = 2.0
MIN_SHARING = 5  # minimum number of digests for a shared shift
MIN_SHARING_UNSEEN = 3  # minimum number of digests if the CPU use of others is unknown
Margins = tuple[float, float]  # margins downwards and upwards
NONE = np.zeros(1)


@dataclass(frozen=True)
class Test:
    """One shift as a logarithm: its estimate, its 90 % interval, and p-values.

    The p-values are for a shift at or inside the margin.
    """

    shift: float
    low: float
    high: float
    p_above: float
    p_below: float
    error: float  # standard error of the shift
    freedom: float  # degrees of freedom of the test


@dataclass(frozen=True)
class Shift:
    """A digest's shifts: of the middle, of the tail (p95) and over rounds. A test without enough data is None."""

    events: int
    paired: bool
    middle: Test | None
    tail: Test | None
    rounds: Test | None
    tail_ns: float  # median over blocks of the p95 of B minus the p95 of A, in ns
    noise: float | None  # standard deviation of the levels of A's rounds, as a logarithm
    tail_rounds: Test | None = None  # test of the tail over rounds
    shared: float = 0.0  # shared shift that the machine may have caused, as a logarithm

    @property
    def detectable(self) -> float | None:
        """The smallest ratio that the test finds with a probability of 80 % at p = 0.005."""
        test = self.rounds or self.middle
        if test is None:
            return None
        reach = scipy.special.stdtrit(test.freedom, 0.995) + scipy.special.stdtrit(test.freedom, 0.8)
        return exp(float(reach) * test.error)


def trimmed(
    values: Floats, margins: Margins, trim: float = TRIM, shared: Floats | None = None, shared_error: float = 0.0
) -> Test:
    """Test the centre of values against -margins[0] and +margins[1] (all logarithms).

    `shared`: the shift that all digests share, for each value. `shared_error`: the standard error of its mean.
    """
    n = len(values)
    cut = int(trim * n)
    centre = float(np.sort(values)[cut : n - cut].mean())
    own = np.sort(values if shared is None else values - shared)
    winsorised = np.clip(own, own[cut], own[n - cut - 1])
    error = float(winsorised.std(ddof=1)) / ((1 - 2 * cut / n) * sqrt(n))
    error = max(sqrt(error**2 + shared_error**2), 1e-9)
    freedom = n - 2 * cut - 1
    reach = float(scipy.special.stdtrit(freedom, 0.95)) * error
    return Test(
        centre,
        centre - reach,
        centre + reach,
        float(scipy.special.stdtr(freedom, (margins[1] - centre) / error)),
        float(scipy.special.stdtr(freedom, (centre + margins[0]) / error)),
        error,
        freedom,
    )


@dataclass(frozen=True)
class Shifts:
    """The shifts of a digest over the blocks that may support "slower", "faster" and "same".

    A shift is None if no block is left.
    """

    slower: Shift | None
    faster: Shift | None
    same: Shift | None


def measure_undisturbed(
    blocks: Columns, tails: Columns, margin: float, disturbance: Disturbance
) -> tuple[dict[str, Shift], dict[str, Shifts]]:
    """Return each digest's shifts over all blocks, and over the blocks without disturbance by other programs."""
    whole = measure(blocks, tails, margin, disturbance.tells)
    if not disturbance.disturbed:
        return whole, {digest: Shifts(shift, shift, shift) for digest, shift in whole.items()}
    slower, faster, same = (
        measure(_without(blocks, flags, 1), _without(tails, flags, 2), margin, disturbance.tells)
        for flags in (disturbance.b_more, disturbance.a_more, disturbance.uneven)
    )
    return whole, {digest: Shifts(slower.get(digest), faster.get(digest), same.get(digest)) for digest in whole}


def _without(columns: Columns, flags: NDArray[np.bool_], width: int) -> Columns:
    """Return the rows whose blocks have no flag. `width`: number of positions that a row covers."""
    first = places_of(columns, width)
    hit = np.zeros(len(first), np.bool_)
    for step in range(width):
        places = first + step
        hit |= (places < len(flags)) & flags[np.minimum(places, len(flags) - 1)]
    return {name: values[~hit] for name, values in columns.items()}


def measure(blocks: Columns, tails: Columns, margin: float, seen: bool = True) -> dict[str, Shift]:
    """Return each digest's shifts from the columns of blocks.sql and slow_tail.sql (ordered by digest, round, block).

    `seen`: whether the CPU use of other programs is known.
    """
    tail_rows = dict(by_digest(tails))
    margins, drift = _margins(blocks, margin, seen)
    common, error, stalls = _shared(blocks)
    measured = {}
    for digest, rows in by_digest(blocks):
        calm = ~stalls[places_of(rows)]
        if calm.any():
            rows = {name: values[calm] for name, values in rows.items()}
        shifts = rows["shift"].astype(np.float64)
        counts = rows["n"].astype(np.float64)
        rounds, levels = _by_round(rows["round"], shifts, counts, rows["level_a"].astype(np.float64))
        tail = _tail(tail_rows.get(digest), margins)
        measured[digest] = Shift(
            events=int(counts.sum()),
            paired=bool(rows["paired"].all()),
            middle=(
                trimmed(shifts, margins, shared=common[places_of(rows)], shared_error=error)
                if len(shifts) >= MIN_BLOCKS
                else None
            ),
            tail=tail[0],
            rounds=trimmed(rounds, (margin, margin), 0.0) if len(rounds) >= MIN_ROUNDS else None,
            tail_rounds=tail[1],
            tail_ns=tail[2],
            noise=float(levels.std(ddof=1)) if len(levels) >= 2 else None,
            shared=drift,
        )
    return measured


def _shared(blocks: Columns) -> tuple[Floats, float, NDArray[np.bool_]]:
    """Return the shared shift of all digests by position in time, the standard error of its mean, and the stalls."""
    if len(blocks["n"]) == 0:
        return NONE, 0.0, NONE.astype(np.bool_)
    places = places_of(blocks)
    residuals, counts = np.zeros(len(places)), blocks["n"].astype(np.float64)
    shifts, at = blocks["shift"].astype(np.float64), 0
    for _, rows in by_digest(blocks):
        own = shifts[at : at + len(rows["n"])]
        residuals[at : at + len(own)] = np.clip(own - np.median(own), -CLIP, CLIP)
        at += len(own)
    total = np.bincount(places, counts)
    common = np.bincount(places, counts * residuals) / np.maximum(total, 1)
    stalls = np.abs(common - np.median(common[total > 0])) > STALL
    for start in range(
        0, len(total), BLOCKS
    ):  # a round that is slow as a whole is not a stall but part of the variance between rounds
        part = slice(start, start + BLOCKS)
        if (stalls[part] & (total[part] > 0)).sum() > MAX_STALLS * (total[part] > 0).sum():
            stalls[part] = False
    series = common[(total > 0) & ~stalls]
    if len(series) < MIN_BLOCKS or (spread := float(series.std(ddof=1))) == 0:
        return common, 0.0, stalls
    steps = series - series.mean()
    memory = min(max(float((steps[1:] * steps[:-1]).sum() / (steps**2).sum()), 0.0), 0.95)
    return common, spread / sqrt(len(series)) * sqrt((1 + memory) / (1 - memory)), stalls


def _margins(blocks: Columns, margin: float, seen: bool) -> tuple[Margins, float]:
    """Return the margins downwards and upwards, and the shared shift that the machine may have caused."""
    if len(blocks["n"]) == 0 or len(np.unique(blocks["round"])) >= MIN_ROUNDS:
        return (margin, margin), 0.0
    centres = sorted(
        (float(np.median(rows["shift"].astype(np.float64))), float(rows["n"].sum())) for _, rows in by_digest(blocks)
    )
    if len(centres) < (MIN_SHARING if seen else MIN_SHARING_UNSEEN):
        return (margin, margin), 0.0
    upto = np.cumsum([n for _, n in centres])
    common = centres[int(np.searchsorted(upto, upto[-1] / 2))][0]
    if abs(common) <= RUN_NOISE or (seen and abs(common) >= RUN_DRIFT):
        return (margin, margin), 0.0
    wider = common if seen else UNSEEN_FACTOR * common
    return (margin + max(-wider, 0.0), margin + max(wider, 0.0)), common


def _tail(rows: Columns | None, margins: Margins) -> tuple[Test | None, Test | None, float]:
    """Return the test of the tail over blocks, its test over rounds, and the additional time of B's tail in ns."""
    if rows is None or len(rows["n"]) < MIN_TAILS:
        return None, None, 0.0
    a, b = rows["tail_a_ns"].astype(np.float64), rows["tail_b_ns"].astype(np.float64)
    shifts, twice = np.log(np.maximum(b, 1) / np.maximum(a, 1)), (2 * margins[0], 2 * margins[1])
    rounds = _by_round(rows["round"], shifts, np.ones(len(a)), shifts)[0]
    over_rounds = trimmed(rounds, twice, 0.0) if len(rounds) >= MIN_ROUNDS else None
    return trimmed(shifts, twice), over_rounds, float(np.median(b - a))


def _by_round(rounds: NDArray[np.generic], shifts: Floats, counts: Floats, levels: Floats) -> tuple[Floats, Floats]:
    """Return each round's mean shift and A's mean level, both weighted by events."""
    numbers, places = np.unique(rounds, return_inverse=True)
    total = np.bincount(places, counts, len(numbers))
    return np.bincount(places, counts * shifts, len(numbers)) / total, np.bincount(
        places, counts * levels, len(numbers)
    ) / total


def bootstrap_quantile(tails: Columns, seed: int = 1) -> dict[str, tuple[float, float]]:
    """Return each digest's 95 % interval of B's p95 over A's p95.

    Blocks of time are resampled with replacement (Kuensch 1989).
    """
    chance = np.random.default_rng(seed)
    means: dict[str, Floats] = {}
    for digest, rows in by_digest(tails):
        a, b = rows["tail_a_ns"].astype(np.float64), rows["tail_b_ns"].astype(np.float64)
        if len(a) < MIN_TAILS:
            continue
        ratios = np.log(np.maximum(b, 1) / np.maximum(a, 1))
        means[digest] = ratios[chance.integers(0, len(ratios), (RESAMPLES, len(ratios)))].mean(axis=1)
    if not means:
        return {}
    lows, highs = np.exp(np.quantile(np.stack(list(means.values())), [0.025, 0.975], axis=1))
    return dict(zip(means, zip(lows.tolist(), highs.tolist(), strict=True), strict=True))
