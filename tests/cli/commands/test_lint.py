# SPDX-License-Identifier: Apache-2.0
"""`querytape lint` as a user types it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.lint import lint_command

from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def test_exit_codes(tmp_path: Path) -> None:
    """3 where --fail-on holds, 4 where the rules do not know the version, 2 for one that is none, else 0."""
    tape = str(make_tape(tmp_path / "l.tape", [{"statement": "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1"}]))
    way = [tape, "--from", "mysql-5.7", "--to", "mysql-8.4"]
    run = CliRunner()
    assert run.invoke(lint_command, way, standalone_mode=False).return_value == 0
    assert run.invoke(lint_command, [*way, "--fail-on", "changes"], standalone_mode=False).return_value == 0
    assert run.invoke(lint_command, [*way, "--fail-on", "deprecated"], standalone_mode=False).return_value == 3
    newer = [tape, "--from", "mysql-8.4", "--to", "mysql-26.7"]
    assert run.invoke(lint_command, newer, standalone_mode=False).return_value == 0
    assert run.invoke(lint_command, [*newer, "--fail-on", "fails"], standalone_mode=False).return_value == 4
    assert run.invoke(lint_command, [*newer, "--fail-on", "deprecated"], standalone_mode=False).return_value == 3
    refused = run.invoke(lint_command, [tape, "--to", "oracle-19"])
    assert refused.exit_code == 2
    assert "expected mysql-8.4" in refused.output


def test_json_has_every_finding(tmp_path: Path) -> None:
    tape = str(make_tape(tmp_path / "l.tape", [{"statement": "SELECT rank FROM t"}]))
    printed = CliRunner().invoke(lint_command, [tape, "--from", "mysql-5.7", "--to", "mysql-8.0", "--json"])
    assert json.loads(printed.output)["findings"][0]["rule"] == "reserved-word-rank"
