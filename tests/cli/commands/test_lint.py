# SPDX-License-Identifier: Apache-2.0
"""Tests of the command line of `querytape lint`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.lint import lint_command

from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def test_lint_exit_code_depends_on_fail_on_and_version(tmp_path: Path) -> None:
    """The exit code is 3 if a --fail-on condition is true, and 4 if the rules do not know the version. An invalid
    version exits with 2. All other cases exit with 0.
    """
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


def test_json_output_lists_every_finding(tmp_path: Path) -> None:
    tape = str(make_tape(tmp_path / "l.tape", [{"statement": "SELECT rank FROM t"}]))
    printed = CliRunner().invoke(lint_command, [tape, "--from", "mysql-5.7", "--to", "mysql-8.0", "--json"])
    assert json.loads(printed.output)["findings"][0]["rule"] == "reserved-word-rank"
