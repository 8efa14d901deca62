# SPDX-License-Identifier: Apache-2.0
"""Output shared by several commands: a new tape, its problems, and the recovery of a tape."""

from pathlib import Path

import pytest
from querytape.cli.output import (
    COLUMNS,
    LOSSES,
    UNSURE,
    complete_tape,
    console,
    describe,
    exit_code,
    lost_sentence,
    say_tape,
    show_problems,
    unsure_sentence,
)
from querytape.common.errors import FolderError
from querytape.common.exit_codes import ExitCode
from querytape.schemas import open_folder

from tests.helpers.tapes import make_tape

INFO = {
    "counts": {"events": 1234, "sessions": 5, "digests": 6, "problems": 2},
    "problems": {"bad_time": 2},
    "first_ns": 1_700_000_000_000_000_000,
    "last_ns": 1_700_000_001_500_000_000,
    "warnings": [{"kind": "hole", "text": "a file is missing"}],
}


def test_summary_of_a_new_tape_shows_counts_times_and_missing_parts(capsys: pytest.CaptureFixture[str]) -> None:
    """For a partial tape, the output also names the option with which a replay accepts the tape."""
    say_tape(Path("x.tape"), INFO)
    assert capsys.readouterr().out == (
        "x.tape: 1,234 events, 5 sessions, 6 digests, 2 problems (2 bad_time)\n  from 2023-11-14 22:13:20.000 to"
        " 2023-11-14 22:13:21.500 UTC (1.5 s)\n  partial tape: a file is missing\n  a replay requires"
        " --partial-ok\n"
    )


def test_complete_tape_stays_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing tape folder is an error."""
    path = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    before = (path / "tape.json").read_bytes()
    complete_tape(path)
    assert (path / "tape.json").read_bytes() == before
    assert capsys.readouterr() == ("", "")
    with pytest.raises(FolderError, match="no such tape"):
        complete_tape(tmp_path / "no.tape")


def test_tape_without_problems_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_problems(open_folder("tape", make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])))
    assert capsys.readouterr().out == ""


def test_piped_output_is_80_columns_wide() -> None:
    assert console().width == COLUMNS == 80


@pytest.mark.parametrize("kind", [*LOSSES, *UNSURE, "unread_duration"])
def test_problem_texts_have_singular_and_plural_forms(kind: str) -> None:
    one, two = (describe(kind, n).removeprefix(f"{n} ").split() for n in (1, 2))
    assert one != two
    assert not {"files", "places", "events", "packets", "jumps", "connections", "durations", "entries", "are"} & set(
        one
    )


def test_ambiguous_local_time_is_not_lost_input() -> None:
    """Ambiguous times have their own heading and exit with INCOMPLETE."""
    info = {"problems": {"ambiguous_time": 1}, "not_understood_bytes": 0}
    assert lost_sentence(info) == ""
    assert unsure_sentence(info).startswith("1 clock change in local times is ambiguous: ")
    assert exit_code(info) == ExitCode.INCOMPLETE
    assert exit_code({"problems": {"bad_time": 1}}) == 0
    both = {"problems": {"ambiguous_time": 2, "damaged_archive": 1}, "not_understood_bytes": 1}
    assert lost_sentence(both) == "1 compressed file is damaged or truncated; 1 byte was skipped"
    assert unsure_sentence(both).startswith("2 clock changes in local times are ambiguous: ")
