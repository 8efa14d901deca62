# SPDX-License-Identifier: Apache-2.0
"""The `collect` command."""

from pathlib import Path

from click.testing import CliRunner
from querytape.cli.commands.collect import collect_command
from querytape.common.errors import InputError

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_help_has_an_example() -> None:
    """Help fits 80 columns and shows what to type."""
    found = CliRunner().invoke(collect_command, ["--help"], terminal_width=80)
    assert "querytape collect big.run part.run" in found.output
    assert max(len(line) for line in found.output.splitlines()) <= 80


def test_a_run_by_one_process(tmp_path: Path) -> None:
    """There is nothing to collect, and that is said."""
    run = make_run(tmp_path / "a.run", make_tape(tmp_path / "t.tape", [{}]), [{}])
    found = CliRunner().invoke(collect_command, [str(run)])
    assert isinstance(found.exception, InputError)
    assert "not a run by several drivers" in str(found.exception)
