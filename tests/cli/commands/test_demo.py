# SPDX-License-Identifier: Apache-2.0
"""`querytape demo`: its options; tests/demo/ runs it."""

from click.testing import CliRunner
from querytape.cli.commands.demo import demo_command


def test_recording_alone_needs_a_folder_to_keep() -> None:
    found = CliRunner().invoke(demo_command, ["--record-only"])
    assert found.exit_code == 2
    assert "--keep" in found.stderr


def test_a_workload_lasts_at_least_two_seconds() -> None:
    found = CliRunner().invoke(demo_command, ["--seconds", "1"])
    assert found.exit_code == 2
    assert "'--seconds'" in found.stderr
