# SPDX-License-Identifier: Apache-2.0
"""`querytape calibrate`: its lines."""

from click.testing import CliRunner
from querytape.cli.commands.calibrate import HEAD, calibrate_command


def test_a_level_of_zero_sessions_is_refused() -> None:
    found = CliRunner().invoke(calibrate_command, ["--sessions", "0,8"])
    assert found.exit_code == 2
    assert "expected numbers such as 1,8,64" in " ".join(found.stderr.split())


def test_the_head_of_the_table_fits_into_80_columns() -> None:
    assert len(HEAD) <= 80
