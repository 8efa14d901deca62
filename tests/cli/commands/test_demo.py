# SPDX-License-Identifier: Apache-2.0
"""`querytape demo`: its options; tests/demo/ runs it."""

from click.testing import CliRunner
from querytape.cli.commands.demo import demo_command


def test_recording_needs_a_folder() -> None:
    """What it records is to be kept somewhere."""
    found = CliRunner().invoke(demo_command, ["--record-only"])
    assert found.exit_code == 2
    assert "--keep" in found.stderr


def test_a_workload_has_a_length() -> None:
    """From two seconds on."""
    found = CliRunner().invoke(demo_command, ["--seconds", "1"])
    assert found.exit_code == 2
    assert "'--seconds'" in found.stderr
