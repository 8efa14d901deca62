# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape calibrate`."""

from pathlib import Path

from click.testing import CliRunner
from querytape.cli.commands.calibrate import HEAD, calibrate_command, sizing_lines
from querytape.replay.sizing import Sizing, TapeLoad


def test_level_of_zero_sessions_is_invalid() -> None:
    found = CliRunner().invoke(calibrate_command, ["--sessions", "0,8"])
    assert found.exit_code == 2
    assert "expected numbers such as 1,8,64" in " ".join(found.stderr.split())


def test_header_of_the_calibration_table_fits_80_columns() -> None:
    assert len(HEAD) <= 80


def test_lines_about_a_tape_fit_80_columns_and_name_the_next_command() -> None:
    """A tape for one machine needs no command."""
    load = TapeLoad(312_000, 1, 4)
    many = sizing_lines(Path("big.tape"), load, Sizing(4, {"queries/s": 3.12, "ports": 0.1}, 0.32))
    assert many == [
        "big.tape: at most 312,000 events in one second, and 1 session at the same time",
        "machines like this one: 4 (queries/s: 3.1 times the recommended load)",
        "  querytape tape deal big.tape 4 -o big.set",
    ]
    few = sizing_lines(Path("big.tape"), load, Sizing(5, {"queries/s": 5.0}, 0.2))
    assert few[2:] == ["  the tape has only 4 sessions, and a session is never split"]
    one = sizing_lines(Path("big.tape"), load, Sizing(1, {"queries/s": 0.08}, 12.345))
    assert one[2:] == ["  one machine can send these events at up to 12.3 times the original speed"]
    assert all(len(line) <= 80 for line in [*many, *one])
    assert len(sizing_lines(Path("big.tape"), TapeLoad(0, 0, 0), Sizing(1, {"queries/s": 0.0}, None))) == 2
