# SPDX-License-Identifier: Apache-2.0
"""Correct p-values for false discoveries over many digests.

A digest's test asks whether it is beyond the margin. Most digests are well inside: their p-values are near 1, and a
correction that counts them all as if they lay on the margin costs what it should find. Those above a half are left
out, and the others are doubled: what a digest on the margin does below a half is then as likely as before (Zhao, Small
and Su 2019; Ellis, Pecanka and Goeman 2020). Where nothing is known well, half of all digests stay and the correction
is the same as ever. Exact tests of few pairs all stay, and none is doubled: their p-values come in steps, and the
smallest that five pairs reach is 0.031.

What stays is corrected after Benjamini and Hochberg (1995), weighted by the time at stake (Genovese, Roeder and
Wasserman 2006), so that thousands of light digests do not drown the heavy few.
"""

from collections.abc import Sequence

import numpy as np

HALF = 0.5
EVEN_SHARE = 0.5  # of the weight of the correction is the same for each digest, the rest goes by time


def discoveries(
    p_values: Sequence[float], tells: Sequence[bool], times: Sequence[float], few: Sequence[bool]
) -> list[float]:
    """Return corrected p-values. `times`: the time at stake; `few`: tested exactly.

    `tells`: whether anything else that has to hold does; what may not be called counts in the correction all the same.
    """
    p, limits = np.asarray(p_values, np.float64), np.where(np.asarray(few, np.bool_), 1.0, HALF)
    stays = np.flatnonzero(p <= limits)
    result = np.ones(len(p))
    doubled = np.where(np.asarray(tells, np.bool_), p / limits, 1.0)[stays]
    result[stays] = corrected(doubled.tolist(), weights_of(np.asarray(times, np.float64)[stays].tolist()))
    return [float(value) for value in result]


def weights_of(times: Sequence[float]) -> list[float]:
    """Return weights with the mean 1: EVEN_SHARE of each is the same for all, the rest goes by the time at stake."""
    total = sum(times)
    if not total:
        return [1.0] * len(times)
    return [EVEN_SHARE + (1 - EVEN_SHARE) * len(times) * time / total for time in times]


def corrected(p_values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Return p-values corrected for false discoveries (Benjamini and Hochberg 1995), weighted with the mean 1.

    scipy.stats.false_discovery_control does the same without weights, but takes half a second to load: an eighth of a
    small report.
    """
    weighted = np.minimum(np.asarray(p_values, np.float64) / np.asarray(weights or [1.0] * len(p_values)), 1.0)
    order = np.argsort(weighted, kind="stable")[::-1]
    scaled = weighted[order] * len(weighted) / np.arange(len(weighted), 0, -1)
    result = np.empty(len(weighted))
    result[order] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return [float(p) for p in result]
