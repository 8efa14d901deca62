# SPDX-License-Identifier: Apache-2.0
"""The accounting of a run, from files alone."""

from pathlib import Path
from typing import Any

import pytest
from querytape.replay.observe.accounting import account, session_totals, summarise
from querytape.schemas import Folder, open_folder

from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, make_tape

EVENTS = 5


def folders(tmp_path: Path, outcomes: list[dict[str, Any]]) -> tuple[Folder, Folder]:
    """Return a tape of five events in one session, and a run of it."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}] * EVENTS)
    return open_folder("tape", tape), open_folder("run", make_run(tmp_path / "a.run", tape, outcomes))


def test_every_event_once(tmp_path: Path) -> None:
    """Statuses and reasons are counted, the engine's own counters are among them, and it balances."""
    outcomes = [{}, {}, {"status": "filtered", "reason": "write"}, {"status": "skipped", "reason": "routine"}]
    tape, run = folders(tmp_path, [*outcomes, {"status": "not_sent", "reason": "stopped"}])
    accounting = account(tape, run, tmp_path, {"injected": 3})
    assert accounting == {
        "tape_events": 5, "executed": 2, "filtered": 1, "skipped": 1, "not_sent": 1,
        "reasons": {"filtered": {"write": 1}, "skipped": {"routine": 1}, "not_sent": {"stopped": 1}},
        "balanced": True, "injected": 3,
    }  # fmt: skip


@pytest.mark.parametrize("seqs", [(1, 2, 3, 4), (1, 2, 3, 4, 4), (1, 2, 3, 4, 5, 5), (1, 2, 3, 4, 6)])
def test_unbalanced(tmp_path: Path, seqs: tuple[int, ...]) -> None:
    """An event without an outcome, with two, or an outcome of an event that is not on the tape."""
    tape, run = folders(tmp_path, [{"seq": seq} for seq in seqs])
    assert not account(tape, run, tmp_path, {})["balanced"]


def test_totals(tmp_path: Path) -> None:
    """The end of the last event, lateness, and errors by number; sessions come from their own table."""
    outcomes = [{"due_ns": n * MS, "sent_ns": n * MS + 1000, "errno": 1146 if n < 2 else 0} for n in range(EVENTS)]
    _, run = folders(tmp_path, outcomes)
    totals = summarise(run, tmp_path)
    assert totals["late_p50_ns"] == totals["late_p99_ns"] == 1000
    assert totals["errors"] == {1146: 2}
    assert totals["end_ns"] >= 4 * MS
    names = {"opened", "opened_ahead", "failed", "lost", "in_transaction_at_end"}
    assert session_totals(run, tmp_path).keys() == names
