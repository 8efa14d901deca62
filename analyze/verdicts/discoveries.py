# SPDX-License-Identifier: Apache-2.0
"""Correct p-values for false discoveries over many digests.

A digest's test asks whether its shift is beyond the margin. Most digests are far inside the margin, so their p-values
are near 1. Counting all of them in the correction would hide real changes.

Digests with a p-value above a half are therefore left out, and the other p-values are doubled. The doubling keeps the
error rate of a digest exactly on the margin (Zhao, Small and Su 2019; Ellis, Pecanka and Goeman 2020). If no digest is
clearly inside or outside the margin, half of the digests stay and the correction has its usual strength.

The p-values of exact tests (few pairs) all stay and are not doubled. These p-values come in steps, and five pairs reach
0.031 at best.

The remaining p-values are corrected after Benjamini and Hochberg (1995). The weight of a digest is its time at stake
(Genovese, Roeder and Wasserman 2006). Thousands of light digests therefore do not hide the few heavy ones.
"""

from collections.abc import Sequence

import numpy as np

HALF = 0.5
EVEN_SHARE = 0.5  # share of each weight that is equal for all digests; the rest depends on time


def discoveries(
    p_values: Sequence[float], tells: Sequence[bool], times: Sequence[float], few: Sequence[bool]
) -> list[float]:
    """Return corrected p-values. `times`: time at stake. `few`: whether the digest was tested exactly.

    `tells`: whether the other conditions for a verdict are met. If they are not met, the digest gets no verdict but
    counts in the correction.
    """
    p, limits = np.asarray(p_values, np.float64), np.where(np.asarray(few, np.bool_), 1.0, HALF)
    stays = np.flatnonzero(p <= limits)
    result = np.ones(len(p))
    doubled = np.where(np.asarray(tells, np.bool_), p / limits, 1.0)[stays]
    result[stays] = corrected(doubled.tolist(), weights_of(np.asarray(times, np.float64)[stays].tolist()))
    return [float(value) for value in result]


def weights_of(times: Sequence[float]) -> list[float]:
    """Return weights with a mean of 1.

    EVEN_SHARE of each weight is constant, and the rest depends on the time at stake.
    """
    total = sum(times)
    if not total:
        return [1.0] * len(times)
    return [EVEN_SHARE + (1 - EVEN_SHARE) * len(times) * time / total for time in times]


def corrected(p_values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Return p-values corrected for false discoveries (Benjamini and Hochberg 1995), with weights of mean 1.

    scipy.stats.false_discovery_control has no weights. Loading scipy.stats takes half a second, which is an eighth of
    the time of a small report.
    """
    weighted = np.minimum(np.asarray(p_values, np.float64) / np.asarray(weights or [1.0] * len(p_values)), 1.0)
    order = np.argsort(weighted, kind="stable")[::-1]
    scaled = weighted[order] * len(weighted) / np.arange(len(weighted), 0, -1)
    result = np.empty(len(weighted))
    result[order] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return [float(p) for p in result]
