# SPDX-License-Identifier: Apache-2.0
"""Measurement of one level of a sweep."""

from pathlib import Path

import pytest
from querytape.analyze import measure_level
from querytape.common.errors import FolderError

from tests.helpers.reports import tape_of
from tests.helpers.runs import MS, make_run


def test_level_is_measured(tmp_path: Path) -> None:
    """A level has its statements, errors, time until the last answer, and quantiles of the successful statements."""
    tape = tape_of(tmp_path / "t.tape", 4)
    outcomes = [{"due_ns": n * MS, "done_ns": (n + 2) * MS, "errno": 1205 if n == 3 else 0} for n in range(4)]
    level = measure_level(make_run(tmp_path / "8.run", tape, outcomes), 8)
    assert (level.sessions, level.statements, level.errors, level.elapsed_ns) == (8, 4, 1, 5 * MS)
    assert (level.p50_ns, level.p99_ns) == (2 * MS, 2 * MS)
    assert level.per_second == pytest.approx(800)


def test_level_without_answers_has_no_quantiles_and_tape_is_refused(tmp_path: Path) -> None:
    tape = tape_of(tmp_path / "t.tape", 1)
    level = measure_level(make_run(tmp_path / "1.run", tape, [{"status": "skipped", "reason": "redacted"}]), 1)
    assert (level.statements, level.elapsed_ns, level.p50_ns, level.per_second) == (0, 0, None, 0)
    with pytest.raises(FolderError):
        measure_level(tape, 1)
