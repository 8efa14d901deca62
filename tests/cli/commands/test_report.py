# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape report`: exit codes, accepted paths, and the conditions of --fail-on in its help."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from querytape.cli.commands.report import report_command, sides_of

from tests.helpers.reports import slower_runs, small_runs

pytestmark = pytest.mark.slow

A, B, TAPE = Path("a.run"), Path("b.run"), Path("t.tape")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Make a tape and two runs. In the second run, one digest is three times slower."""
    return slower_runs(tmp_path_factory.mktemp("outputs"))


def test_report_exit_code_is_3_for_gates_and_2_for_wrong_usage(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    paths = [str(path) for path in runs]
    for arguments, code in (
        ([*paths, "--fail-on", "slower > 0"], 3),
        ([*paths, "--fail-on", "slower > 1"], 0),
        ([*paths, "--margin", "much"], 2),
        ([paths[0]], 2),
    ):
        result = CliRunner().invoke(report_command, arguments, standalone_mode=code != 2 and False)
        got = result.return_value if result.exception is None else getattr(result.exception, "exit_code", 1)
        assert got == code, result.output
    missing = CliRunner().invoke(report_command, [str(tmp_path / "none"), paths[1]])
    assert missing.exit_code == 1


def test_report_accepts_one_run_or_a_baseline_and_a_candidate() -> None:
    assert sides_of((TAPE, A)) == (TAPE, [A], [])
    assert sides_of((TAPE, A, B)) == (TAPE, [A], [B])


@pytest.mark.parametrize("paths", [(TAPE,), (TAPE, A, B, A)])
def test_report_refuses_a_wrong_number_of_paths(paths: tuple[Path, ...]) -> None:
    with pytest.raises(click.UsageError, match="expected a tape and one or two runs, or the folder of a comparison"):
        sides_of(paths)


def test_report_of_two_runs_without_a_tape_names_the_missing_tape(tmp_path: Path) -> None:
    _, a, b = small_runs(tmp_path)
    with pytest.raises(click.UsageError, match=r"a\.run is a run: name its tape first"):
        sides_of((a, b))


def test_help_of_fail_on_lists_every_condition() -> None:
    epilog = report_command.epilog or ""
    assert all(f"\n  {name} " in epilog for name in ("slower", "p99_ratio", "throughput_ratio"))


def test_show_option_prints_a_failed_statement_with_the_values_of_each_side(tmp_path: Path) -> None:
    paths = [str(path) for path in small_runs(tmp_path)]
    shown = CliRunner().invoke(report_command, [*paths, "--show", "0" * 16], catch_exceptions=False).output
    assert "failures: tape 0, A 0, B 1" in shown
    assert "B: error 1205: Lock wait timeout exceeded for 'bob'" in shown
    assert shown.endswith("\n\nSELECT a FROM t WHERE id = 1;\n")
