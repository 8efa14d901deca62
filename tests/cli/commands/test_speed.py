# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape speed`."""

from pathlib import Path

from click.testing import CliRunner
from querytape.cli.commands.speed import speed_command
from querytape.common.errors import QuerytapeError


def test_folder_without_a_run_gives_a_one_line_error(tmp_path: Path) -> None:
    found = CliRunner().invoke(speed_command, [str(tmp_path / "no.run"), "2"])
    assert isinstance(found.exception, QuerytapeError)
