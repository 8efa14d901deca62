# SPDX-License-Identifier: Apache-2.0
"""Tests of the command line of `querytape sweep`."""

import pytest
from click.testing import CliRunner
from querytape.cli.commands.sweep import sweep_command


@pytest.mark.parametrize("text", ["", "0,1", "2,1", "1,...,8", "2,3,...,9", "1,2,..."])
def test_sweep_levels_must_increase(text: str) -> None:
    result = CliRunner().invoke(sweep_command, ["t", "--target", "mysql://a@b", "-o", "o", "--sessions", text])
    assert result.exit_code == 2
    assert "expected increasing numbers" in " ".join(result.output.split())
