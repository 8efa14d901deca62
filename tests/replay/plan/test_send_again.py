# SPDX-License-Identifier: Apache-2.0
"""Tests of sending part of a tape again: events that failed in a run or became slower in a report.

The transactions of these events and the session state are also sent.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay.plan.rules import Rules
from querytape.replay.plan.selection import Selection
from querytape.replay.plan.send_again import slower_digests
from querytape.schemas import open_folder, tape_id

from tests.helpers.planning import excluded, fed, planned
from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow

D1, D2 = "1" * 16, "2" * 16
TX = {"class": "transaction"}
SET = {"class": "session"}
EVENTS: list[dict[str, Any]] = [
    {"session": 1, "statement": "SET NAMES latin1", **SET},  # event 1, session state
    {"session": 1, "statement": "SELECT 1", "digest": D2},  # event 2
    {"session": 1, "statement": "BEGIN", **TX},  # event 3
    {"session": 1, "statement": "UPDATE a", "class": "write", "digest": D1},  # event 4, fails
    {"session": 1, "statement": "SELECT 1", "digest": D2},  # event 5
    {"session": 1, "statement": "COMMIT", **TX},  # event 6
    {"session": 1, "statement": "SET @late = 1", **SET},  # event 7, after all selected events
    {"session": 1, "command": "quit"},  # event 8
    {"session": 2, "statement": "SET NAMES utf8", **SET},  # no event of session 2 fails
    {"session": 2, "statement": "BEGIN", **TX},
    {"session": 2, "statement": "SELECT 1", "digest": D2},
    {"session": 2, "statement": "COMMIT", **TX},
    {"session": 2, "command": "ping"},
    {"session": 3, "command": "prepare", "stmt": 1, "statement": "SELECT ?", "digest": D2},
    {"session": 3, "command": "long_data", "stmt": 1, "params": b"L\0\0old"},  # belongs to the previous execution
    {"session": 3, "command": "execute", "stmt": 1, "params": b"E\0\0\0\0\0\0", "digest": D2, "class": "read"},
    {"session": 3, "command": "long_data", "stmt": 1, "params": b"L\0\0new"},  # event 4
    {
        "session": 3,
        "command": "execute",
        "stmt": 1,
        "params": b"E\0\0\0\0\0\0",
        "digest": D2,
        "class": "read",
    },  # event 5, fails
    {"session": 3, "statement": "SELECT 1", "digest": D2},
]
FAILS = {(1, 4), (3, 5)}


def runs_of(tmp_path: Path, fails: set[tuple[int, int]]) -> Path:
    """Write a run of the events above in which the events in `fails` failed."""
    tape = make_tape(tmp_path / "first.tape", EVENTS)
    seen: dict[int, int] = {}
    outcomes = []
    for event in EVENTS:
        seq = seen[event["session"]] = seen.get(event["session"], 0) + 1
        outcomes.append({"session": event["session"], "errno": 1055 if (event["session"], seq) in fails else 0})
    run = make_run(tmp_path / "first.run", tape, outcomes)
    info = json.loads((run / "run.json").read_text())
    info["tape"]["id"] = tape_id(open_folder("tape", tape).info)
    (run / "run.json").write_text(json.dumps(info))
    return run


def kept(tmp_path: Path, selection: Selection) -> list[tuple[int, int]]:
    """Return (session, seq) of the sent events. Each other event is filtered for its own reason."""
    plan = planned(tmp_path, EVENTS, Rules(allow_writes=True, selection=selection))
    sent = sorted((int(session), int(seq)) for session, seq in fed(plan, "session", "seq"))
    left = excluded(tmp_path)
    assert len(sent) + len(left) == len(EVENTS) == plan.events
    assert {status for _, _, status, _ in left} == {"filtered"}
    assert {reason for *_, reason in left} <= {"filter:failed_in", "filter:slower_in"}
    return sent


def test_failed_events_are_sent_with_their_context(tmp_path: Path) -> None:
    """Whole transactions and the earlier session state are sent. Other sessions are excluded."""
    run = runs_of(tmp_path, FAILS)
    wanted = [(1, 1), (1, 3), (1, 4), (1, 5), (1, 6), (1, 8), (3, 1), (3, 4), (3, 5)]
    assert kept(tmp_path, Selection(failed_in=run)) == wanted


def test_transaction_of_a_failed_commit_is_sent_again(tmp_path: Path) -> None:
    run = runs_of(tmp_path, {(2, 4)})
    assert kept(tmp_path, Selection(failed_in=run)) == [(2, 1), (2, 2), (2, 3), (2, 4)]


def test_slower_digests_are_sent_again(tmp_path: Path) -> None:
    """The report gives the slower digests. If a run is also given, its failed events are selected as well."""
    file = tmp_path / "r.json"
    rows = [{"digest": D1, "verdict": "slower"}, {"digest": D2, "verdict": "same"}]
    file.write_text(json.dumps({"tape": {"path": "t", "events": len(EVENTS)}, "digests": rows}))
    assert kept(tmp_path, Selection(slower_in=file)) == [(1, n) for n in (1, 3, 4, 5, 6, 8)]
    quick = tmp_path / "quick.json"
    of = {"path": "quick.tape", "events": 3, "samples_of_events": len(EVENTS)}
    quick.write_text(json.dumps({"tape": of, "digests": rows}))
    (tmp_path / "quick").mkdir()
    assert kept(tmp_path / "quick", Selection(slower_in=quick)) == [(1, n) for n in (1, 3, 4, 5, 6, 8)]
    both = tmp_path / "both"
    both.mkdir()
    run = runs_of(both, {(2, 3)})
    assert kept(both, Selection(slower_in=file, failed_in=run))[-4:] == [(2, 1), (2, 2), (2, 3), (2, 4)]


def test_run_without_failures_or_of_another_tape_is_refused(tmp_path: Path) -> None:
    run = runs_of(tmp_path, set())
    with pytest.raises(InputError, match="no statement failed"):
        kept(tmp_path, Selection(failed_in=run))
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(InputError, match="another tape"):
        planned(other, EVENTS[:5], Rules(selection=Selection(failed_in=run)))


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"tape": {"events": 1, "path": "t"}, "digests": []}, "another tape"),
        ({"tape": {"events": 19}, "digests": [{"digest": D1, "verdict": "same"}]}, "no slower digest"),
        ({"tape": {"events": 19}, "digests": [{"digest": "x'", "verdict": "slower"}]}, "is not a digest"),
        ({"tape": {"events": 19}, "digests": 7}, "expected the output of"),
        ([], "expected the output of"),
    ],
)
def test_invalid_report_is_refused(tmp_path: Path, report: Any, said: str) -> None:
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", EVENTS))
    file = tmp_path / "r.json"
    file.write_text(json.dumps(report))
    with pytest.raises(InputError, match=said):
        slower_digests(file, tape)
