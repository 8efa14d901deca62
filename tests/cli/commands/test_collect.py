# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape collect`."""

from pathlib import Path

from click.testing import CliRunner
from querytape.cli.commands.collect import collect_command
from querytape.common.errors import InputError

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_collect_refuses_the_run_of_a_single_process(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a.run", make_tape(tmp_path / "t.tape", [{}]), [{}])
    found = CliRunner().invoke(collect_command, [str(run)])
    assert isinstance(found.exception, InputError)
    assert "the run did not use several drivers" in str(found.exception)
