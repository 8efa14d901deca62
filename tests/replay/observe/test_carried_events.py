# SPDX-License-Identifier: Apache-2.0
"""What became of the events that restore the state of sessions."""

from pathlib import Path

from querytape.common.duck import small_database
from querytape.replay.observe.carried_events import count_restored, state_lines
from querytape.schemas import open_folder
from querytape.schemas.names import FLAGS

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_restored_failed_and_unsent_carried_events_are_counted(tmp_path: Path) -> None:
    carried = {"statement": "SET @a = 1", "flags": FLAGS["carried"]}
    tape = make_tape(tmp_path / "t.tape", [carried] * 4 + [{"statement": "SELECT 1"}] * 2, carried=4)
    outcomes = [{}, {"errno": 1231}, {"errno": 1231}, {"status": "skipped", "reason": "redacted"}, {"errno": 1064}, {}]
    run = make_run(tmp_path / "a.run", tape, outcomes)
    state = count_restored(small_database(), open_folder("tape", tape), open_folder("run", run))
    assert state == {"restored": 1, "failed": {"1231": 2}, "not_sent": {"redacted": 1}}
    (line,) = state_lines({"state": state})
    assert line.endswith("of 4 statements that restore the state of sessions 2 failed with 1231, 1 not sent (redacted)")
    assert state_lines({"state": {"restored": 4, "failed": {}, "not_sent": {}}}) == []
    assert state_lines({}) == []


def test_a_tape_without_carried_events_reads_nothing(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    run = make_run(tmp_path / "a.run", tape, [{}])
    assert count_restored(small_database(), open_folder("tape", tape), open_folder("run", run)) is None
