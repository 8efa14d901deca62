# SPDX-License-Identifier: Apache-2.0
"""A tape can be inspected and cut during its capture. Reading the tape of a running capture never completes the tape."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.capture import recover
from querytape.capture.source import Endless
from querytape.capture.tools.snapshot import ROOM, snapshot, snapshot_of
from querytape.capture.tools.verify import verify
from querytape.cli.commands.inspect_tape import inspect_command
from querytape.cli.commands.tape import tape_group
from querytape.common.errors import InputError
from querytape.common.files import hold
from querytape.schemas import open_folder

from tests.capture.test_publishing import STATEMENTS, Capture, pieces
from tests.helpers.log_writers import FIRST_S

pytestmark = pytest.mark.slow


def test_running_capture_can_be_inspected_and_cut(tmp_path: Path) -> None:
    """A snapshot has the parts that were published before it. `tape cut --last` copies the last minutes. The capture
    continues to its end.
    """
    first, second = pieces(50)
    tape = tmp_path / "t.tape"
    capture = Capture(tmp_path / "slow.log", tape, Endless(part_every_ns=1_000_000))
    capture.write(first + second[:190])
    capture.wait_for(50)
    with pytest.raises(InputError, match="the capture is still running"):
        recover(tape)
    assert [damage.what for damage in verify(tape, tmp_path)] == ["the capture is still running"]
    info = snapshot(tape, tmp_path / "now.tape")
    assert (info["counts"]["events"], info["finished"]) == (50, True)
    assert [warning["kind"] for warning in info["warnings"]] == ["snapshot"]
    assert list(verify(tmp_path / "now.tape", tmp_path)) == []
    cut = CliRunner().invoke(
        tape_group, ["cut", str(tape), "--last", "20s", "-o", str(tmp_path / "late.tape")], standalone_mode=False
    )
    assert cut.exception is None
    late = open_folder("tape", tmp_path / "late.tape").info
    assert (late["counts"]["events"], late["first_ns"] // 10**9) == (20, FIRST_S + 30)
    assert late["input"]["tapes"] == [str(tape)]
    shown = CliRunner().invoke(inspect_command, [str(tape), "--json"], standalone_mode=False)
    assert json.loads(shown.stdout)["counts"]["events"] == 50
    assert not (tape / ROOM).exists()
    capture.write(second[190:])
    done = capture.end()
    assert (done["counts"]["events"], done["warnings"]) == (len(STATEMENTS), [])
    assert list(verify(tape, tmp_path)) == []


def test_removed_parts_stay_in_an_open_snapshot(tmp_path: Path) -> None:
    """--keep removes parts from the tape while a snapshot is open."""
    tape = tmp_path / "t.tape"
    capture = Capture(tmp_path / "slow.log", tape, Endless(1_000_000, keep_ns=20 * 10**9))
    cuts = pieces(*range(10, 100, 10))
    capture.write(cuts[0] + cuts[1][:190])
    capture.wait_for(10)
    with snapshot_of(tape) as taken:
        capture.write(cuts[1][190:])
        for number, piece in enumerate(cuts[2:], 3):
            capture.write(piece)
            capture.wait_for(number * 10 - 1)
        assert capture.published["dropped"]["events"] >= 10
        assert open_folder("tape", taken).info["counts"]["events"] == 10
        events = open_folder("tape", taken).files("events")
        assert all(file.exists() for file in events)
    capture.end()


def test_files_of_a_killed_reader_are_removed(tmp_path: Path) -> None:
    """The next reader removes the temporary files of the killed reader. Files of a running reader are kept."""
    tape = tmp_path / "t.tape"
    capture = Capture(tmp_path / "slow.log", tape, Endless(part_every_ns=1_000_000))
    (first,) = pieces()
    capture.write(first[:1000])
    capture.wait_for(1)
    killed, living = tape / ROOM / "killed", tape / ROOM / "living"
    for one in (killed, living):
        one.mkdir(parents=True)
        os.utime(one, (0, 0))
    with hold(living), snapshot_of(tape):
        assert not killed.exists()
        assert living.exists()
    capture.end()


def test_snapshot_without_published_parts_is_refused(tmp_path: Path) -> None:
    tape = tmp_path / "t.tape"
    (tape / "events").mkdir(parents=True)
    (tape / "tape.json").write_text(json.dumps({"format_version": 1, "finished": False, "parts": [], "files": []}))
    with hold(tape), pytest.raises(InputError, match="not yet published any events"):
        snapshot(tape, tmp_path / "now.tape")
    assert not (tmp_path / "now.tape").exists()
