# SPDX-License-Identifier: Apache-2.0
"""Verdicts on simulated pairs of runs with known effects: found where they are, and nowhere else."""

import random
from pathlib import Path

import numpy as np
import pytest
from querytape.analyze import build
from querytape.analyze.verdicts.verdict import corrected
from scipy import stats

from tests.helpers.simulated import Machine, Workload, digest_name, simulate_run, simulate_tape

LOAD = Workload(digests=16, repeats=400)


def verdicts(folder: Path, a: Machine, b: Machine, seed: int) -> dict[str, str]:
    """Return {digest: verdict} of two simulated runs."""
    tape = simulate_tape(folder / "t.tape", LOAD)
    runs = [simulate_run(folder / f"{n}.run", tape, LOAD, m, seed * 2 + n) for n, m in enumerate((a, b))]
    return {entry["digest"]: entry["verdict"] for entry in build(tape, runs[:1], runs[1:]).digests}


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


def test_false_discoveries_are_corrected_as_scipy_does() -> None:
    """Any number of p-values, equal ones and ones among them; none at all."""
    rng = random.Random(5)
    for n in (1, 2, 7, 500):
        found = [rng.choice([rng.random(), rng.random() ** 6, 1.0, 0.0, 0.25]) for _ in range(n)]
        assert np.allclose(corrected(found), stats.false_discovery_control(found, method="bh"))
    assert corrected([]) == []
