# SPDX-License-Identifier: Apache-2.0
"""Tests of the options of `querytape demo`. `tests/demo/` runs the demo itself."""

from click.testing import CliRunner
from querytape.cli.commands.demo import demo_command


def test_record_only_option_requires_a_folder() -> None:
    found = CliRunner().invoke(demo_command, ["--record-only"])
    assert found.exit_code == 2
    assert "--keep" in found.stderr


def test_demo_workload_lasts_at_least_two_seconds() -> None:
    found = CliRunner().invoke(demo_command, ["--seconds", "1"])
    assert found.exit_code == 2
    assert "'--seconds'" in found.stderr
