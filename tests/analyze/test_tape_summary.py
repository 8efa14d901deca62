# SPDX-License-Identifier: Apache-2.0
"""A tape's summary, and what differs between two tapes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.analyze import compare_tapes, summarise_tape
from querytape.analyze.database import INSPECT
from querytape.cli.commands.inspect_tape import inspect_command
from querytape.common.errors import FolderError

from tests.helpers.simulated import Workload, simulate_tape


def test_two_tapes(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """What is new on the second and what is gone, by statements an hour."""
    other = simulate_tape(tmp_path / "o.tape", Workload(digests=4, repeats=200))
    found = CliRunner().invoke(inspect_command, [str(other), "--against", str(runs[0]), "--json"])
    changed = json.loads(found.output)
    assert len(changed["digests"]) == 8
    assert sorted(row["events_b"] for row in changed["digests"]) == [0, 0, 0, 0, 200, 200, 200, 200]
    shown = CliRunner().invoke(inspect_command, [str(other), "--against", str(runs[0])])
    assert "0 digests are new on B, 4 are gone" in shown.output


def test_every_analysis_has_rows(small_paths: tuple[Path, Path, Path]) -> None:
    """One row or more of each; a run is no tape."""
    answers = summarise_tape(small_paths[0]).answers
    assert list(answers) == list(INSPECT)
    assert all(answers.values())
    with pytest.raises(FolderError):
        summarise_tape(small_paths[1])


def test_a_tape_against_itself(small_paths: tuple[Path, Path, Path]) -> None:
    """The totals are equal, nothing is new or gone."""
    changed = compare_tapes(small_paths[0], small_paths[0])
    assert changed.totals[0] == changed.totals[1]
    assert all(row["per_hour_a"] == row["per_hour_b"] for row in changed.digests)
