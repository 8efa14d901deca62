# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape tape`. Each subcommand writes a new tape or names a missing option."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from querytape.capture import capture
from querytape.cli.commands.tape import tape_group
from querytape.schemas import open_folder
from querytape.stores.store import StoreError

from tests.conftest import CHECKOUT
from tests.helpers.mixed import mixed_tape
from tests.helpers.tapes import SECOND, T0, make_tape, reads

pytestmark = pytest.mark.slow


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Make a tape with six events of two users, one event per second."""
    rows = [
        {"statement": f"SELECT {n}", "session": 1 + n % 2, "user": f"u{n % 2}", "start_ns": T0 + n * SECOND}
        for n in range(6)
    ]
    return make_tape(tmp_path / "t.tape", rows)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(tape_group, [str(argument) for argument in arguments], standalone_mode=False)


def events(path: Path) -> int:
    return int(open_folder("tape", path).info["counts"]["events"])


def test_tape_can_be_cut_filtered_by_user_and_merged(tape: Path, tmp_path: Path) -> None:
    assert run("cut", tape, "--from", "2023-11-14T22:13:23", "-o", tmp_path / "late.tape").exception is None
    assert run("filter", tape, "--user", "u0", "-o", tmp_path / "u0.tape").exception is None
    merged = run("merge", tmp_path / "late.tape", tmp_path / "u0.tape", "-o", tmp_path / "both.tape")
    assert "6 events" in merged.stdout
    assert [events(tmp_path / f"{name}.tape") for name in ("late", "u0", "both")] == [3, 3, 6]


@pytest.mark.parametrize(
    ("command", "expected"),
    [("cut", "expected --from, --to, both, or --last"), ("filter", "expected at least one of --user")],
)
def test_tape_cut_and_filter_require_an_option(command: str, expected: str, tape: Path, tmp_path: Path) -> None:
    assert expected in str(run(command, tape, "-o", tmp_path / "x.tape").exception)


def test_verify_accepts_an_undamaged_tape_and_names_a_changed_file(tmp_path: Path) -> None:
    log = CHECKOUT / "tests" / "samples" / "mysql-8.0.slow.log"
    tape = capture(log, tmp_path / "t.tape").path
    assert run("verify", tape).return_value == 0
    next((tape / "events").glob("part-*.parquet")).write_bytes(b"nothing")
    found = run("verify", tape)
    assert (found.return_value, "events/part-00000.parquet" in found.stdout + found.stderr) == (1, True)


def test_times_of_tape_cut_are_relative_to_the_first_event(tmp_path: Path) -> None:
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * SECOND} for n in range(5)]
    tape = make_tape(tmp_path / "t.tape", events)
    result = run("cut", tape, "--from", "+2s", "--to", "+4s", "-o", tmp_path / "c.tape")
    assert result.exit_code == 0, result.output
    assert open_folder("tape", tmp_path / "c.tape").info["counts"]["events"] == 2


def test_deal_distributes_a_tape_evenly(tmp_path: Path) -> None:
    """The output shows the load of each tape. The commands `cut`, `pseudonymize` and `verify` accept the set of these
    tapes.
    """
    tape = mixed_tape(tmp_path / "m.tape", 30, 600)
    dealt = run("deal", tape, 3, "-o", tmp_path / "m.set")
    assert dealt.exception is None
    assert "3 tapes, each with " in dealt.stdout
    assert "the tape with the highest load has 1.0" in dealt.stdout
    assert "UNEVEN" not in dealt.stdout
    assert run("verify", tmp_path / "m.set").stdout == f"{tmp_path / 'm.set'}: whole\n"
    assert run("cut", tmp_path / "m.set", "--from", "+1s", "-o", tmp_path / "cut.tape").exception is None
    assert run("cut", tape, "--from", "+1s", "-o", tmp_path / "cut2.tape").exception is None
    assert events(tmp_path / "cut.tape") == events(tmp_path / "cut2.tape") > 0
    assert run("pseudonymize", tmp_path / "m.set", "-o", tmp_path / "p.tape").exception is None
    assert events(tmp_path / "p.tape") == 600


def test_deal_warns_if_one_session_has_most_of_the_load(tmp_path: Path) -> None:
    rows = [{"statement": "SELECT 1", "session": 1 + (n > 90) * (n - 90)} for n in range(100)]
    dealt = run("deal", make_tape(tmp_path / "t.tape", rows), 2, "-o", tmp_path / "t.set")
    assert "the tape with the highest load has 1.82 times the mean load" in dealt.stdout
    assert "UNEVEN: session 1 has 91% of the load" in dealt.stdout


def test_gather_makes_a_set_from_a_folder_of_tapes(tmp_path: Path) -> None:
    """The output shows the counts of the whole set. `verify` names the damaged tape of a set."""
    folder = tmp_path / "all"
    folder.mkdir()
    for number in (1, 2):
        mixed_tape(folder / f"{number}.tape", 5, 50, number)
    assert "100 events, 10 sessions" in run("set", folder).stdout
    assert run("verify", folder).stdout == f"{folder}: whole\n"
    assert run("pseudonymize", folder, "-o", tmp_path / "p.tape").exception is None
    assert open_folder("tape", tmp_path / "p.tape").info["counts"] == open_folder("tape", folder).info["counts"] | {
        "problems": 0
    }
    (folder / "2.tape" / "sessions.parquet").unlink()
    found = run("verify", folder)
    assert "2.tape: sessions.parquet is missing" in found.stdout


@pytest.mark.parametrize("denied", [False, True])
def test_copy_is_only_reported_after_the_store_has_it(
    denied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def published(address: str, *_: Any, **__: Any) -> Iterator[Path]:
        (tmp_path / "room").mkdir()
        yield tmp_path / "room" / "b.tape"
        print("published")
        if denied:
            raise StoreError(f"{address}: Access Denied")

    monkeypatch.setattr("querytape.stores.published", published)
    tape = make_tape(tmp_path / "a.tape", reads(3))
    result = CliRunner().invoke(tape_group, ["copy", str(tape), "s3://b/b.tape"])
    first, *others = result.stdout.splitlines()
    assert first == "published"
    assert isinstance(result.exception, StoreError) == denied
    assert [line.partition(": ")[2][:7] for line in others] == ([] if denied else ["4 files"])
