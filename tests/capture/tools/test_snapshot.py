# SPDX-License-Identifier: Apache-2.0
"""A tape is read while its capture writes it: inspected, cut, and never completed behind the capture's back."""

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


def test_a_tape_under_way_is_inspected_and_cut(tmp_path: Path) -> None:
    """A snapshot has what is published; `tape cut --last` takes its last minutes; the capture goes on to its end."""
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


def test_parts_that_are_dropped_stay_for_who_reads_them(tmp_path: Path) -> None:
    """A snapshot keeps its parts while --keep drops them from the tape."""
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


def test_what_a_killed_reader_left_goes(tmp_path: Path) -> None:
    """Nothing published is a sentence; what a killed reader left is removed by the next one, a living one's is kept."""
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


def test_nothing_published(tmp_path: Path) -> None:
    """A tape without a part yet is a sentence."""
    tape = tmp_path / "t.tape"
    (tape / "events").mkdir(parents=True)
    (tape / "tape.json").write_text(json.dumps({"format_version": 1, "finished": False, "parts": [], "files": []}))
    with hold(tape), pytest.raises(InputError, match="not yet published any events"):
        snapshot(tape, tmp_path / "now.tape")
    assert not (tmp_path / "now.tape").exists()
