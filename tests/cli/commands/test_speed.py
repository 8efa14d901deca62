# SPDX-License-Identifier: Apache-2.0
"""`querytape speed`: asks a run, or says why not."""

from pathlib import Path

from click.testing import CliRunner
from querytape.cli.commands.speed import speed_command
from querytape.common.errors import QuerytapeError


def test_a_folder_that_is_no_run_is_an_error_in_one_line(tmp_path: Path) -> None:
    found = CliRunner().invoke(speed_command, [str(tmp_path / "no.run"), "2"])
    assert isinstance(found.exception, QuerytapeError)
