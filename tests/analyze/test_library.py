# SPDX-License-Identifier: Apache-2.0
"""Reports as a library: relations and texts."""

from pathlib import Path

import pytest
from querytape.analyze.library import report
from querytape.common.errors import FolderError

from tests.helpers.reports import small_runs

pytestmark = pytest.mark.slow


def test_two_runs(tmp_path: Path) -> None:
    """A row a digest, the numbers of --fail-on, the texts of the command; rounds may be lists."""
    tape, a, b = small_runs(tmp_path)
    result = report(str(tape), a, [b])
    assert {"digest", "verdict", "a_p95_ns", "b_p95_ns"} <= set(result.verdicts().columns)
    assert len(result.verdicts().fetchall()) == len(result.content.digests)
    assert len(result.answer("errors").fetchall()) == len(result.content.answers["errors"])
    assert result.numbers()["new_errors"] > 0
    assert result.html().startswith("<!")
    assert result.json().startswith("{")
    assert "|" in result.markdown()


def test_one_run_is_compared_with_nothing_and_a_missing_run_is_an_error(tmp_path: Path) -> None:
    tape, a, _ = small_runs(tmp_path)
    assert not report(tape, a).content.compares
    with pytest.raises(FolderError, match="no such run"):
        report(tape, tmp_path / "no.run")
