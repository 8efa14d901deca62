# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape fingerprint`."""

import pytest
from click.testing import CliRunner
from querytape.cli.commands.fingerprint import fingerprint_command


@pytest.mark.parametrize(("option", "digits"), [([], 16), (["--pt"], 32), (["--pt16"], 16)])
def test_each_output_line_shows_the_digest_of_a_statement(option: list[str], digits: int) -> None:
    lines = "SELECT * FROM t WHERE id = 7\n\nselect * from t where id = 8\n"
    rows = CliRunner().invoke(fingerprint_command, option, input=lines).stdout.splitlines()
    assert len(rows) == 2
    assert rows[0] == rows[1]
    name, _, text = rows[0].partition("  ")
    assert len(name) == digits
    assert text.lower() == "select * from t where id = ?"
