# SPDX-License-Identifier: Apache-2.0
"""Exit codes of all commands."""

from querytape.common.exit_codes import MEANINGS, ExitCode, help_of_codes, table_of_codes


def test_each_code_has_one_meaning_and_one_table_row() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert len({name for name, _ in MEANINGS.values()}) == len(ExitCode)
    assert [line.split()[1] for line in table_of_codes().splitlines()[2:]] == [f"{code:d}" for code in ExitCode]


def test_help_lists_the_codes_of_a_command_in_80_columns() -> None:
    text = help_of_codes(ExitCode.CONDITION, ExitCode.INCOMPLETE)
    assert text.startswith("Exit codes: 0 success, 1 error, 2 wrong usage, 3 --fail-on holds, 4 incomplete")
    assert max(map(len, text.splitlines())) <= 80
