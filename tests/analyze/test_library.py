# SPDX-License-Identifier: Apache-2.0
"""Reports made with the Python library: relations and texts."""

from pathlib import Path

import pytest
from querytape.analyze.library import report
from querytape.common.errors import FolderError

from tests.helpers.reports import small_runs

pytestmark = pytest.mark.slow


def test_report_of_two_runs(tmp_path: Path) -> None:
    """The report of the library has a row per digest, the values of --fail-on and the texts of the command. Rounds may
    be lists.
    """
    tape, a, b = small_runs(tmp_path)
    result = report(str(tape), a, [b])
    assert {"digest", "verdict", "a_p95_ns", "b_p95_ns"} <= set(result.verdicts().columns)
    assert len(result.verdicts().fetchall()) == len(result.content.digests)
    assert len(result.answer("errors").fetchall()) == len(result.content.answers["errors"])
    assert result.numbers()["new_errors"] > 0
    assert result.html().startswith("<!")
    assert result.json().startswith("{")
    assert "|" in result.markdown()


def test_single_run_has_no_comparison(tmp_path: Path) -> None:
    tape, a, _ = small_runs(tmp_path)
    assert not report(tape, a).content.compares
    with pytest.raises(FolderError, match="no such run"):
        report(tape, tmp_path / "no.run")
