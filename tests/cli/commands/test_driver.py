# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape driver`."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.driver import driver_command
from querytape.cli.replay_options import ONLY_LEAD
from querytape.common.errors import QuerytapeError
from querytape.replay.drivers.secured import VARIABLE, make_key

from tests.helpers.tapes import make_tape

GIVEN = ["--target", "mysql://a@127.0.0.1/x", "-o", "part.run"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing option '--join'"),
        (["--join", "7000"], "expected HOST:PORT"),
        (
            ["--join", "h:1"],
            f"the key that drivers and lead process share is missing: use --join-key FILE, or set {VARIABLE}",
        ),
        (["--join", "h:1", "--join-key", "/nowhere/key"], "the key that drivers and lead process share is missing"),
        (
            ["--join", "h:1", "--follow"],
            "--follow cannot be combined with several drivers",
        ),
        (
            ["--join", "h:1", "--metrics", ":1"],
            "--metrics cannot be combined with several drivers",
        ),
        (
            ["--join", "h:1", "--start-at", "2026-11-20 12:00"],
            "--start-at: set this option on the lead process (querytape replay), not on a driver",
        ),
    ],
)
def test_invalid_driver_options_exit_with_2(words: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    found = CliRunner().invoke(driver_command, ["t.set", *GIVEN, *words])
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


def test_help_omits_options_of_the_lead() -> None:
    shown = CliRunner().invoke(driver_command, ["--help"]).output
    assert "--speed" in shown
    assert all(name not in shown for name in ONLY_LEAD)


def test_error_names_the_unreachable_lead_and_no_run_is_written(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{}])
    make_key(tmp_path / "k")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [str(tape), *GIVEN[:2], "-o", str(tmp_path / "p.run"), "--join", f"127.0.0.1:{port}"]
    found = CliRunner().invoke(driver_command, [*words, "--join-key", str(tmp_path / "k")])
    assert isinstance(found.exception, QuerytapeError)
    assert f"127.0.0.1:{port}: cannot connect to the lead process" in str(found.exception)
    assert not (tmp_path / "p.run").exists()
