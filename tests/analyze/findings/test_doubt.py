# SPDX-License-Identifier: Apache-2.0
"""Runs that carry no claim; test_trust.py has the reasons one by one."""

import pytest
from querytape.analyze import Report
from querytape.analyze.findings.doubt import doubt, named_runs

pytestmark = pytest.mark.slow


def test_sound_runs(report: Report) -> None:
    """There is no doubt about them; they are named by side."""
    assert doubt(report) is None
    assert [name for name, _ in named_runs(report)] == ["A", "B"]
