# SPDX-License-Identifier: Apache-2.0
"""Tests of a lost driver. Each unreported event gets an outcome, and the events that were possibly sent are counted."""

from pathlib import Path

import pytest
from querytape.replay.drivers.lost import REASON, write_unreported
from querytape.replay.plan.make_plan import PlanRequest
from querytape.replay.plan.pacing import Amplification, Pace
from querytape.replay.plan.rules import Rules
from querytape.schemas import Folder, open_folder

from tests.helpers.duck import database
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

EVENTS = [
    {"session": session, "start_ns": T0 + number * 10 * MS, "statement": "SELECT 1"}
    for number in range(10)
    for session in (1, 2)
] + [{"session": 2, "start_ns": T0 + 200 * MS, "statement": "DELETE FROM t", "class": "write"}]
SPAN = (T0 - 100 * MS, T0 + 1000 * MS)  # the first event of another driver comes earlier


def lost_part(tmp_path: Path, reported: int) -> Path:
    """Return the part of a driver that reported `reported` outcomes of session 1. One additional file is incomplete."""
    tape = make_tape(tmp_path / "t.tape", EVENTS)
    part = tmp_path / "part"
    if reported:
        make_run(part, tape, [{"session": 1, "seq": seq} for seq in range(1, reported + 1)])
        (part / "outcomes" / "part-00000.parquet").rename(part / "outcomes" / "part-run-00000.parquet")
        (part / "outcomes" / "part-plan-00000.parquet").write_bytes(b"of a plan that is made again")
        (part / "outcomes" / "part-run-00001.parquet").write_bytes(b"PAR1 not whole")
    return part


def outcomes(part: Path) -> dict[tuple[str, str | None], int]:
    """Return the number of outcomes for each status and reason. Fail if an event has two outcomes."""
    source = f"read_parquet('{part}/outcomes/part-*.parquet', union_by_name = true)"
    with database() as con:
        assert (
            con.execute(f"SELECT session, seq, clone FROM {source} GROUP BY ALL HAVING count(*) > 1").fetchall() == []
        )
        found = con.execute(f"SELECT status, reason, count(*) FROM {source} GROUP BY ALL").fetchall()
    return {(status, reason): n for status, reason, n in found}


def request(tape: Folder, rules: Rules, part: Path) -> PlanRequest:
    """Return the plan request of the lost driver."""
    return PlanRequest(tape, rules, part / "again", part / "outcomes", span=lambda first, last: SPAN)


@pytest.mark.parametrize("reported", [0, 4])
def test_each_event_of_a_lost_driver_has_an_outcome(reported: int, tmp_path: Path) -> None:
    """Each event is reported, filtered or lost. All lost events are unknown if the driver may still be running."""
    part = lost_part(tmp_path, reported)
    tape = open_folder("tape", tmp_path / "t.tape")
    unknown = write_unreported(request(tape, Rules(), part), [(0, None)])
    assert unknown == 20 - reported
    expected = {("not_sent", REASON): 20 - reported, ("filtered", "write"): 1}
    assert outcomes(part) == expected | ({("executed", None): reported} if reported else {})


def test_events_due_after_the_death_of_a_driver_were_not_sent(tmp_path: Path) -> None:
    """All drivers share one start time. The first event of this driver is due 100 ms later. Without a schedule, all its
    events are unknown.
    """
    part = lost_part(tmp_path, 4)
    tape = open_folder("tape", tmp_path / "t.tape")
    assert (
        write_unreported(request(tape, Rules(), part), [(0, 100 * MS + 45 * MS)]) == 1 + 5
    )  # session 1: seq 5. session 2: seq 1 to 5
    for pace in (Pace("think"), Pace("none")):
        again = tmp_path / pace.kind
        again.mkdir()
        other = lost_part(again, 0)
        assert write_unreported(request(open_folder("tape", again / "t.tape"), Rules(pace), other), [(0, 1)]) == 20


def test_copies_of_a_lost_driver_are_counted(tmp_path: Path) -> None:
    """Each round of `--loop` is as long as the events of all drivers together."""
    part = lost_part(tmp_path, 0)
    tape = open_folder("tape", tmp_path / "t.tape")
    rules = Rules(amplification=Amplification(1, 0, 2))
    assert write_unreported(request(tape, rules, part), [(0, 1100 * MS + 15 * MS)]) == 20
    (tmp_path / "again").mkdir()
    part = lost_part(tmp_path / "again", 0)
    again = open_folder("tape", tmp_path / "again" / "t.tape")
    assert write_unreported(request(again, rules, part), [(0, 1200 * MS + 15 * MS)]) == 20 + 4


def test_lost_driver_with_only_filtered_writes_has_no_unknown_events(tmp_path: Path) -> None:
    make_tape(tmp_path / "t.tape", [{"statement": "DELETE FROM t", "class": "write"}])
    part = tmp_path / "part"
    assert write_unreported(request(open_folder("tape", tmp_path / "t.tape"), Rules(), part), [(0, None)]) == 0
    assert outcomes(part) == {("filtered", "write"): 1}
