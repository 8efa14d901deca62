# SPDX-License-Identifier: Apache-2.0
"""Counts what verdicts find and what they report falsely, on simulated pairs of runs. `make verdicts`."""

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analyze.verdicts.shifts import measure
from ..analyze.verdicts.verdict import Case, Margin, judge_all

DIGESTS = 20
SPREAD = 0.3
CHANGED = 3
Floats = NDArray[np.float64]
Effect = Callable[[np.random.Generator, Floats], Floats]

EFFECTS: dict[str, Effect] = {
    "none": lambda chance, b: b,
    "5 %": lambda chance, b: b * 1.05,
    "20 %": lambda chance, b: b * 1.2,
    "50 %": lambda chance, b: b * 1.5,
    "tail only: 10 % of the events, 5 times": lambda chance, b: np.where(chance.random(len(b)) < 0.1, 5 * b, b),
}


def simulate(
    chance: np.random.Generator, n: int, effect: Effect | None, wander: float, spread: float, everywhere: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of blocks.sql and slow_tail.sql for one pair of runs; `wander`: of a slow factor all share."""
    speed, value = np.zeros(n), 0.0
    for place in range(n if wander else 0):
        value = 0.98 * value + wander * math.sqrt(1 - 0.98**2) * chance.normal()
        speed[place] = value
    blocks: dict[str, list[Any]] = {k: [] for k in ("digest", "round", "block", "n", "shift", "level_a", "paired")}
    tails: dict[str, list[Any]] = {k: [] for k in ("digest", "round", "block", "n", "tail_a_ns", "tail_b_ns")}
    for digest in range(DIGESTS):
        level = 1e6 * 1.3 ** (digest % 10)
        a = level * np.exp(spread * chance.normal(size=n))
        b = level * np.exp(spread * chance.normal(size=n) + speed)
        if effect is not None and (everywhere or digest == CHANGED):
            b = effect(chance, b)
        for parts, columns in ((40, blocks), (20, tails)):
            for block, (ours, theirs) in enumerate(
                zip(np.array_split(a, parts), np.array_split(b, parts), strict=True)
            ):
                values: tuple[Any, ...]
                if parts == 40 and len(ours):
                    values = (len(ours), np.log(theirs / ours).mean(), np.log(ours).mean(), True)
                elif parts == 20 and len(ours) >= 15:
                    values = (len(ours), *(np.quantile(side, 0.95, method="inverted_cdf") for side in (ours, theirs)))
                else:
                    continue
                for name, cell in zip(columns, (f"{digest:016x}", 1, block, *values), strict=True):
                    columns[name].append(cell)
    return ({k: np.array(v) for k, v in blocks.items()}, {k: np.array(v) for k, v in tails.items()})


def trial(seed: int, n: int, name: str, wander: float, spread: float, everywhere: bool) -> tuple[int, int, int]:
    """Return (changed digests found, unchanged digests called, unchanged digests) of one pair."""
    chance = np.random.default_rng(seed)
    blocks, tails = simulate(chance, n, EFFECTS[name], wander, spread, everywhere)
    shifts = measure(blocks, tails, Margin().log)
    cases = [Case(digest, {"median_a_ns": 1e6}, shift, 0) for digest, shift in shifts.items()]
    words = {int(digest, 16): verdict.word for digest, verdict in judge_all(cases, Margin()).items()}
    changed = set() if name == "none" else set(range(DIGESTS)) if everywhere else {CHANGED}
    n_found = sum(words[digest] == "slower" for digest in changed)
    false = sum(words[digest] in ("slower", "faster") for digest in words if digest not in changed)
    return n_found, false, len(words) - len(changed)


def main() -> int:
    """Print the table of docs/numbers.md."""
    parser = argparse.ArgumentParser(prog="make verdicts")
    parser.add_argument("--pairs", type=int, default=200)
    pairs = parser.parse_args().pairs
    print("| effect on | spread | events of each digest | machine | found | false calls |")
    print("|---|--:|--:|---|--:|--:|")
    cases = [(name, False, SPREAD, n, 0.0) for name in EFFECTS for n in (100, 500, 2000)]
    cases += [(name, False, SPREAD, 500, 0.1) for name in ("none", "20 %", "50 %")]
    cases += [("20 %", True, SPREAD, 500, 0.0), ("20 %", False, 0.15, 500, 0.0), ("20 %", False, 0.6, 2000, 0.0)]
    for name, everywhere, spread, n, wander in cases:
        totals = np.sum([trial(seed, n, name, wander, spread, everywhere) for seed in range(pairs)], axis=0)
        changed = pairs * (DIGESTS if everywhere else 1)
        share = "" if name == "none" else f"{totals[0] / changed:.1%}"
        false = f"{totals[1] / totals[2]:.2%}" if totals[2] else ""
        where = f"{name}, all digests" if everywhere else name if name == "none" else f"{name}, one digest"
        print(
            f"| {where} | {spread} | {n:,} | {'wanders by 10 %' if wander else 'steady'} | {share} | {false} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
