# SPDX-License-Identifier: Apache-2.0
"""`querytape speed`: asks a run, or says why not."""

from pathlib import Path

from click.testing import CliRunner
from querytape.cli.commands.speed import speed_command
from querytape.common.errors import QuerytapeError


def test_no_run(tmp_path: Path) -> None:
    """A folder that is no run is an error in one line."""
    found = CliRunner().invoke(speed_command, [str(tmp_path / "no.run"), "2"])
    assert isinstance(found.exception, QuerytapeError)
