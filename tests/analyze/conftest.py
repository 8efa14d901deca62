# SPDX-License-Identifier: Apache-2.0
"""Reports that many tests of outputs read: made once."""

from pathlib import Path

import pytest
from querytape.analyze import Report, build

from tests.helpers.reports import small_runs
from tests.helpers.simulated import Machine, Workload, simulate_run, simulate_tape

LOAD = Workload(digests=8, repeats=200)
CALM = Machine(wander=0.0, stalls=0.0, bad_second=False)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A tape, and two runs of it: one digest is three times slower on the second."""
    folder = tmp_path_factory.mktemp("outputs")
    tape = simulate_tape(folder / "t.tape", LOAD)
    slow = Machine(wander=0.0, stalls=0.0, bad_second=False, effects={5: lambda chance, ms: ms * 3})
    return (
        tape,
        simulate_run(folder / "a.run", tape, LOAD, CALM, 1),
        simulate_run(folder / "b.run", tape, LOAD, slow, 2),
    )


@pytest.fixture(scope="session")
def report(runs: tuple[Path, Path, Path]) -> Report:
    """Both runs compared; read it, change nothing."""
    return build(runs[0], [runs[1]], [runs[2]])


@pytest.fixture(scope="session")
def small_paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Tape, A and B of `small_runs`."""
    return small_runs(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def small_report(small_paths: tuple[Path, Path, Path]) -> Report:
    """The small runs compared; read it, change nothing."""
    return build(small_paths[0], [small_paths[1]], [small_paths[2]])
