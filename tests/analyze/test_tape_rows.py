# SPDX-License-Identifier: Apache-2.0
"""The rows of a tape's analyses are what their types say. conftest.py looks at the rows of all other tests here."""

from pathlib import Path

import pytest
from querytape.analyze import compare_tapes, summarise_tape
from querytape.analyze.database import INSPECT, PICTURES, WORKLOAD
from querytape.analyze.tape_rows import TapeAnswers, TapePictures, Workload

from tests.analyze.test_golden_varied import varied_runs
from tests.helpers.shapes import misfits

pytestmark = pytest.mark.slow


def wrong_of_tape(path: Path) -> list[str]:
    """Return what does not fit in the rows of a tape."""
    summary = summarise_tape(path, pictures=True)
    found = [(f"inspect/{name}", rows) for name, rows in (*summary.answers.items(), *summary.pictures.items())]
    found += [(f"workload/{name}", rows) for name, rows in summary.workload.items()]
    found.append(("inspect/two_tapes", compare_tapes(path, path).digests))
    return [text for name, rows in found for text in misfits(name, rows)]


def test_every_analysis_of_a_tape_has_a_type_and_no_type_lacks_one() -> None:
    assert tuple(TapeAnswers.__annotations__) == INSPECT
    assert tuple(TapePictures.__annotations__) == PICTURES
    assert tuple(Workload.__annotations__) == WORKLOAD


def test_rows_of_a_tape_fit_their_types(small_paths: tuple[Path, Path, Path], tmp_path: Path) -> None:
    assert wrong_of_tape(small_paths[0]) == []
    assert wrong_of_tape(varied_runs(tmp_path)[0]) == []
