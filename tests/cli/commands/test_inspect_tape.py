# SPDX-License-Identifier: Apache-2.0
"""`querytape inspect`: text of at most 80 columns, JSON, what changed, problems alone."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.inspect_tape import inspect_command

from tests.helpers.tapes import make_tape


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """A tape of nine reads."""
    return make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}", "duration_ns": 1000} for n in range(9)])


def test_text_and_json(tape: Path) -> None:
    """Both have the number of events."""
    text = CliRunner().invoke(inspect_command, [str(tape)])
    assert text.exception is None
    assert max(len(line) for line in text.stdout.splitlines()) <= 80
    assert json.loads(CliRunner().invoke(inspect_command, [str(tape), "--json"]).stdout)["counts"]["events"] == 9


def test_against_and_problems(tape: Path) -> None:
    """Against itself nothing changed; without problems nothing is printed."""
    assert CliRunner().invoke(inspect_command, [str(tape), "--against", str(tape)]).exit_code == 0
    assert CliRunner().invoke(inspect_command, [str(tape), "--problems"]).stdout == ""
