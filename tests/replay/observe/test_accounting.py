# SPDX-License-Identifier: Apache-2.0
"""Tests of the accounting of a run. The tests need files but no server."""

from pathlib import Path
from typing import Any

import pytest
from querytape.common.duck import small_database
from querytape.replay.observe.accounting import (
    STATUSES,
    account,
    count_restored,
    session_totals,
    state_lines,
    summarise,
)
from querytape.schemas import Folder, open_folder
from querytape.schemas.names import FLAGS

from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, make_tape

EVENTS = 5


def folders(tmp_path: Path, outcomes: list[dict[str, Any]]) -> tuple[Folder, Folder]:
    """Return a tape of five events in one session, and a run of the tape."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}] * EVENTS)
    return open_folder("tape", tape), open_folder("run", make_run(tmp_path / "a.run", tape, outcomes))


def test_every_event_is_counted_once(tmp_path: Path) -> None:
    """The accounting contains the statuses, the reasons and the engine's own counters. The accounting balances."""
    outcomes = [{}, {}, {"status": "filtered", "reason": "write"}, {"status": "skipped", "reason": "routine"}]
    tape, run = folders(tmp_path, [*outcomes, {"status": "not_sent", "reason": "stopped"}])
    accounting = account(small_database(), tape, run, {"injected": 3})
    assert accounting == {
        "tape_events": 5, "executed": 2, "filtered": 1, "skipped": 1, "not_sent": 1,
        "reasons": {"filtered": {"write": 1}, "skipped": {"routine": 1}, "not_sent": {"stopped": 1}},
        "balanced": True, "injected": 3,
    }  # fmt: skip


@pytest.mark.parametrize("seqs", [(1, 2, 3, 4), (1, 2, 3, 4, 4), (1, 2, 3, 4, 5, 5), (1, 2, 3, 4, 6)])
def test_missing_duplicate_or_foreign_outcome_does_not_balance(tmp_path: Path, seqs: tuple[int, ...]) -> None:
    tape, run = folders(tmp_path, [{"seq": seq} for seq in seqs])
    assert not account(small_database(), tape, run, {})["balanced"]


SOUND = [(session, seq, clone) for session in (1, 2, 3) for seq in (1, 2) for clone in (0, 1)]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("lost", "instead"),
    [
        ((1, 1, 0), (1, 2, 0)),  # another event of the session
        ((2, 1, 0), (1, 1, 0)),  # the same position in another session
        ((2, 1, 0), (2, 1, 1)),  # another copy of the event
        ((3, 2, 1), (3, 2, 2)),  # a copy that does not exist
        ((1, 2, 0), (2, 1, 0)),  # session and position are exchanged
        ((3, 1, 0), (1, 3, 0)),
    ],
)
@pytest.mark.parametrize("status", ["executed", "skipped"])
def test_duplicate_outcome_does_not_replace_a_missing_outcome(
    tmp_path: Path, lost: tuple[int, int, int], instead: tuple[int, int, int], status: str
) -> None:
    """Equal counts are not enough. Each copy of each event needs exactly one outcome, whatever its status."""
    tape = make_tape(tmp_path / "t.tape", [{"session": s, "statement": "SELECT 1"} for s in (1, 2, 3) for _ in (1, 2)])
    for name, keys in (("good", SOUND), ("bad", [key for key in SOUND if key != lost] + [instead])):
        rows: list[dict[str, Any]] = [{"session": key[0], "seq": key[1], "clone": key[2]} for key in keys]
        rows[-1] |= {} if status == "executed" else {"status": status, "reason": "routine"}
        run = open_folder("run", make_run(tmp_path / f"{name}.run", tape, rows))
        accounting = account(small_database(), open_folder("tape", tape), run, {}, amplification=2)
        assert sum(accounting[status] for status in STATUSES) == accounting["tape_events"] == 12
        assert accounting["balanced"] is (name == "good")


def test_unknown_status_does_not_balance(tmp_path: Path) -> None:
    tape, run = folders(tmp_path, [{}, {}, {}, {}, {"status": "forgotten"}])
    accounting = account(small_database(), tape, run, {})
    assert (accounting["executed"], accounting["tape_events"], accounting["balanced"]) == (4, 5, False)


def test_run_without_outcomes_does_not_balance(tmp_path: Path) -> None:
    tape, run = folders(tmp_path, [])
    assert account(small_database(), tape, run, {})["balanced"] is False


def test_totals_of_a_run_are_computed(tmp_path: Path) -> None:
    """The totals are the end of the last event, the lateness and the number of errors by error number. Sessions come
    from their own table.
    """
    outcomes = [{"due_ns": n * MS, "sent_ns": n * MS + 1000, "errno": 1146 if n < 2 else 0} for n in range(EVENTS)]
    _, run = folders(tmp_path, outcomes)
    totals = summarise(small_database(), run)
    assert totals["late_p50_ns"] == totals["late_p99_ns"] == 1000
    assert totals["errors"] == {1146: 2}
    assert totals["end_ns"] >= 4 * MS
    names = {"opened", "opened_ahead", "failed", "lost", "in_transaction_at_end"}
    assert session_totals(small_database(), run).keys() == names


def test_restored_session_state_is_counted(tmp_path: Path) -> None:
    """The counts are restored statements, failed statements by error number, and unsent statements by reason. Other
    events are not counted.
    """
    carried = {"statement": "SET @a = 1", "flags": FLAGS["carried"]}
    tape = make_tape(tmp_path / "t.tape", [carried] * 4 + [{"statement": "SELECT 1"}] * 2, carried=4)
    outcomes = [{}, {"errno": 1231}, {"errno": 1231}, {"status": "skipped", "reason": "redacted"}, {"errno": 1064}, {}]
    run = make_run(tmp_path / "a.run", tape, outcomes)
    state = count_restored(small_database(), open_folder("tape", tape), open_folder("run", run))
    assert state == {"restored": 1, "failed": {"1231": 2}, "not_sent": {"redacted": 1}}
    (line,) = state_lines({"state": state})
    assert line.endswith("Statements for this purpose: 4, 2 failed with error 1231, 1 not sent (redacted)")
    assert state_lines({"state": {"restored": 4, "failed": {}, "not_sent": {}}}) == []
    assert state_lines({}) == []


def test_tape_without_state_statements_has_no_restore_counts(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    run = make_run(tmp_path / "a.run", tape, [{}])
    assert count_restored(small_database(), open_folder("tape", tape), open_folder("run", run)) is None
