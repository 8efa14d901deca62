# SPDX-License-Identifier: Apache-2.0
"""The rows of a tape's analyses match their types. conftest.py checks the rows of all other tests in this folder."""

from pathlib import Path

import pytest
from querytape.analyze import compare_tapes, summarise_tape
from querytape.analyze.database import INSPECT, PICTURES, WORKLOAD
from querytape.analyze.tape_rows import TapeAnswers, TapePictures, Workload

from tests.analyze.test_golden_varied import varied_runs
from tests.helpers.shapes import misfits

pytestmark = pytest.mark.slow


def type_mismatches_of_tape(path: Path) -> list[str]:
    """Return the mismatches between a tape's rows and their types."""
    summary = summarise_tape(path, pictures=True)
    found = [(f"inspect/{name}", rows) for name, rows in (*summary.answers.items(), *summary.pictures.items())]
    found += [(f"workload/{name}", rows) for name, rows in summary.workload.items()]
    found.append(("inspect/two_tapes", compare_tapes(path, path).digests))
    return [text for name, rows in found for text in misfits(name, rows)]


def test_analyses_of_tapes_and_row_types_match() -> None:
    assert tuple(TapeAnswers.__annotations__) == INSPECT
    assert tuple(TapePictures.__annotations__) == PICTURES
    assert tuple(Workload.__annotations__) == WORKLOAD


def test_rows_of_a_tape_match_their_types(small_paths: tuple[Path, Path, Path], tmp_path: Path) -> None:
    assert type_mismatches_of_tape(small_paths[0]) == []
    assert type_mismatches_of_tape(varied_runs(tmp_path)[0]) == []
