# SPDX-License-Identifier: Apache-2.0
"""`querytape tape ...`: each command writes a new tape, or says what is missing."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from querytape.cli.commands.tape import tape_group
from querytape.schemas import open_folder

from tests.helpers.tapes import SECOND, T0, make_tape


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Six events of two users, a second apart."""
    rows = [
        {"statement": f"SELECT {n}", "session": 1 + n % 2, "user": f"u{n % 2}", "start_ns": T0 + n * SECOND}
        for n in range(6)
    ]
    return make_tape(tmp_path / "t.tape", rows)


def run(*arguments: object) -> Result:
    """Run a command of the group."""
    return CliRunner().invoke(tape_group, [str(argument) for argument in arguments], standalone_mode=False)


def events(path: Path) -> int:
    """Return how many events a tape has."""
    return int(open_folder("tape", path).info["counts"]["events"])


def test_cut_filter_and_merge(tape: Path, tmp_path: Path) -> None:
    """Half by time, half by user, both together."""
    assert run("cut", tape, "--from", "2023-11-14T22:13:23", "-o", tmp_path / "late.tape").exception is None
    assert run("filter", tape, "--user", "u0", "-o", tmp_path / "u0.tape").exception is None
    merged = run("merge", tmp_path / "late.tape", tmp_path / "u0.tape", "-o", tmp_path / "both.tape")
    assert "6 events" in merged.stdout
    assert [events(tmp_path / f"{name}.tape") for name in ("late", "u0", "both")] == [3, 3, 6]


@pytest.mark.parametrize(
    ("command", "expected"),
    [("cut", "expected --from, --to, both, or --last"), ("filter", "expected at least one of --user")],
)
def test_nothing_to_choose_by(command: str, expected: str, tape: Path, tmp_path: Path) -> None:
    """Without an option there is nothing to do."""
    assert expected in str(run(command, tape, "-o", tmp_path / "x.tape").exception)


def test_verify(tape: Path) -> None:
    """A tape that is whole, and one with a part that is not what it was."""
    whole = run("verify", tape)
    assert whole.return_value == 0 or "whole" not in whole.stdout
    next((tape / "events").glob("part-*.parquet")).write_bytes(b"nothing")
    assert run("verify", tape).return_value == 1


def test_cut_takes_relative_times(tmp_path: Path) -> None:
    """--from +2s is two seconds after the tape's first event, as it is for replay."""
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * SECOND} for n in range(5)]
    tape = make_tape(tmp_path / "t.tape", events)
    result = run("cut", tape, "--from", "+2s", "--to", "+4s", "-o", tmp_path / "c.tape")
    assert result.exit_code == 0, result.output
    assert open_folder("tape", tmp_path / "c.tape").info["counts"]["events"] == 2
