# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape replay`."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.analyze import build
from querytape.cli.commands.replay import replay_command
from querytape.common.errors import InputError
from querytape.schemas import DANGERS
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape


def test_help_all_lists_every_kind_of_dangerous_statement() -> None:
    found = CliRunner().invoke(replay_command, ["--help-all"])
    assert all(name in found.output for name in DANGERS if name != "none")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--drain", "soon", "expected a duration such as 500ms, 60s or 2m"),
        ("--speed", "0", "expected a number above 0"),
        ("--speed", "fast", "expected a number such as"),
        ("--queue-memory", "0", "expected a size such as"),
        ("--allow-statement", "sudo", "'sudo' is not one of 'shutdown'"),
    ],
)
def test_invalid_option_value_shows_the_expected_form(option: str, value: str, message: str) -> None:
    found = CliRunner().invoke(replay_command, ["t.tape", "--target", "mysql://a@b", "-o", "r", option, value])
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


@pytest.mark.server
def test_replay_prints_target_progress_and_accounting(mariadb: Server, tmp_path: Path) -> None:
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * 100 * MS} for n in range(23)]
    events.append({"statement": "INSERT", "class": "write"})
    tape = make_tape(tmp_path / "t.tape", events)
    found = CliRunner().invoke(
        replay_command,
        [str(tape), "--target", mariadb.url(), "-o", str(tmp_path / "t.run"), "--lead", "100ms", "--drain", "2s"],
        standalone_mode=False,
    )
    assert found.exception is None
    assert found.return_value == 0
    assert "24 events = 23 executed + 1 filtered + 0 skipped + 0 not sent" in found.stdout
    assert f"target root@127.0.0.1:{mariadb.port}: {mariadb.version}" in found.stderr
    assert (
        "24 events on the tape: 23 to send in 1 session (at most 1 at the same time), 1 excluded: 1 filtered"
        " (write)" in found.stderr
    )
    assert "   time   open    q/s" in found.stderr
    assert "lateness: p50" in found.stdout


@pytest.mark.server
def test_several_tapes_are_merged_before_the_replay(mariadb: Server, tmp_path: Path) -> None:
    """The merged tape is written next to the run. Sessions of the two tapes stay separate."""
    for name in ("a", "b"):
        events = [{"statement": f"SELECT '{name}', {n}", "start_ns": T0 + n * 10 * MS} for n in range(5)]
        make_tape(tmp_path / f"{name}.tape", events)
    tapes = [str(tmp_path / "a.tape"), str(tmp_path / "b.tape")]
    arguments = [*tapes, "--target", mariadb.url(), "-o", str(tmp_path / "both.run"), "--lead", "100ms"]
    found = CliRunner().invoke(replay_command, arguments, standalone_mode=False)
    assert found.return_value == 0
    assert "both.tape: merged 10 events of 2 tapes" in found.output
    assert "10 events = 10 executed" in found.output
    assert "2 opened" in found.output
    report = build(tmp_path / "both.tape", [tmp_path / "both.run"])
    assert sum(row["events"] for row in report.answers["accounting"]) == 10
    again = CliRunner().invoke(replay_command, arguments)
    assert isinstance(again.exception, InputError)
