# SPDX-License-Identifier: Apache-2.0
"""Verdicts on simulated pairs of runs with known effects: found where they are, and nowhere else."""

import random
from pathlib import Path

import pytest
from querytape.analyze import build
from querytape.analyze.verdict import judge, z_for

from tests.analyze.simulated import Machine, Workload, digest_name, simulate_run, simulate_tape

LOAD = Workload(digests=16, repeats=400)


def verdicts(folder: Path, a: Machine, b: Machine, seed: int) -> dict[str, str]:
    """Return {digest: verdict} of two simulated runs."""
    tape = simulate_tape(folder / "t.tape", LOAD)
    runs = [simulate_run(folder / f"{n}.run", tape, LOAD, m, seed * 2 + n) for n, m in enumerate((a, b))]
    return {entry["digest"]: entry["verdict"] for entry in build(tape, runs).digests}


@pytest.mark.parametrize("seed", range(6))
def test_equal_machines_give_no_verdict_of_slower(tmp_path: Path, seed: int) -> None:
    """Noise, drift of up to 8 %, random stalls and a bad second are not a regression."""
    drift = random.Random(seed).uniform(-0.08, 0.08)
    found = verdicts(tmp_path, Machine(), Machine(drift=drift), seed)
    assert {digest: word for digest, word in found.items() if word in ("slower", "faster")} == {}


@pytest.mark.parametrize("seed", range(3))
def test_real_regressions_are_found_and_nothing_else(tmp_path: Path, seed: int) -> None:
    """A digest three times slower, one 1.8 times and one with a slow tail; one faster; the others stay uncalled."""
    effects = {
        5: lambda chance, ms: ms * 3,
        8: lambda chance, ms: ms * 1.8,
        9: lambda chance, ms: ms * (6 if chance.random() < 0.15 else 1),
        11: lambda chance, ms: ms / 2,
    }
    found = verdicts(tmp_path, Machine(), Machine(effects=effects), seed)
    called = {digest: word for digest, word in found.items() if word in ("slower", "faster")}
    assert called == {
        digest_name(5): "slower",
        digest_name(8): "slower",
        digest_name(9): "slower",
        digest_name(11): "faster",
    }


def pair(**given: object) -> dict[str, object]:
    """Return a row of pairs.sql: 500 pairs, everything equal, but for what is given."""
    base = {"n": 500, "ratio": 1.0, "ratio_low": 0.97, "ratio_high": 1.03, "median_a_ns": 10**6, "median_b_ns": 10**6}
    return {
        **base,
        "tail_ratio": 1.0,
        "tail_ns": 0,
        "slices": 6,
        "slower": 0,
        "faster": 0,
        "tail_slower": 0,
        **given,
    }


@pytest.mark.parametrize(
    ("row", "errors", "word"),
    [
        (None, 0, "cannot tell"),
        (pair(n=29), 0, "cannot tell"),
        (pair(), 0, "same"),
        (pair(), 2, "errors changed"),
        (pair(ratio=3.0, ratio_low=2.8, ratio_high=3.2, median_b_ns=3 * 10**6, slower=6), 0, "slower"),
        # a stall: two parts of the run only
        (pair(ratio=3.0, ratio_low=2.8, ratio_high=3.2, median_b_ns=3 * 10**6, slower=2), 0, "unstable"),
        # three times slower, and nobody would notice 20 us
        (pair(ratio=3.0, ratio_low=2.8, ratio_high=3.2, median_a_ns=10_000, median_b_ns=30_000, slower=6), 0, "same"),
        (pair(ratio=0.4, ratio_low=0.38, ratio_high=0.42, median_b_ns=4 * 10**5, faster=6), 0, "faster"),
        (pair(ratio=1.2, ratio_low=1.05, ratio_high=1.4, median_b_ns=1_200_000), 0, "unstable"),
        (pair(tail_ratio=4.5, tail_ns=7 * 10**6, tail_slower=6), 0, "slower"),
        (pair(tail_ratio=4.5, tail_ns=7 * 10**6, tail_slower=1), 0, "unstable"),
    ],
)
def test_rules(row: dict[str, object] | None, errors: int, word: str) -> None:
    """Each rule by one row: too few, equal, errors first, beyond the margin, agreed or not, too small to notice."""
    assert judge(row, errors).word == word


def test_more_digests_ask_for_more() -> None:
    """The quantile grows with the number of digests that share the error rate."""
    assert 2.5 < z_for(1) < z_for(100) < z_for(10_000) < 6
