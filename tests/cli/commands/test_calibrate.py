# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape calibrate`."""

from click.testing import CliRunner
from querytape.cli.commands.calibrate import HEAD, calibrate_command


def test_level_of_zero_sessions_is_invalid() -> None:
    found = CliRunner().invoke(calibrate_command, ["--sessions", "0,8"])
    assert found.exit_code == 2
    assert "expected numbers such as 1,8,64" in " ".join(found.stderr.split())


def test_header_of_the_calibration_table_fits_80_columns() -> None:
    assert len(HEAD) <= 80
