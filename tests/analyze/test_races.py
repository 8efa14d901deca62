# SPDX-License-Identifier: Apache-2.0
"""When other results may be a race with writes of other sessions: only with evidence for each of them."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import build
from querytape.analyze.answer.reasons import remedy_of
from querytape.analyze.findings.results import RACE, against_b
from querytape.analyze.model import Settings

from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

READ, WRITE, COMMIT = "SELECT a FROM t WHERE id = 1", "UPDATE t SET a = a + 1", "COMMIT"
Event = tuple[int, str, tuple[int, int], tuple[int, int]]  # session, statement, its times in A and in B, in ms
REPLAY = {"allow_writes": True, "order": "time"}


def reason(
    folder: Path, events: list[Event], differing: set[int], parameters: dict[str, Any], alone: bool, cut: int
) -> str | None:
    """Return the reason for reads that differ: ten of session 1, one each 10 ms, and these events. `alone`: of one run."""
    every: list[Event] = [(1, READ, (10 * n, 10 * n + 1), (10 * n, 10 * n + 1)) for n in range(10)]
    every = sorted(every + events, key=lambda event: event[2])
    kinds = {WRITE: "write", COMMIT: "transaction"}
    rows = [
        {"session": session, "statement": text, "start_ns": T0 + old[0] * MS, "errno": 0, "rows_sent": 1,
         "class": "read" if text == READ else kinds.get(text, "write")}
        for session, text, old, _ in every
    ]  # fmt: skip
    tape = make_tape(folder / "t.tape", rows, known_columns=["errno", "rows_sent"])
    runs = []
    for side in (0, 1):
        place, outcomes = 0, []
        for event in every:
            sent, done = event[3] if side else event[2]
            outcome: dict[str, Any] = {"session": event[0], "due_ns": sent * MS, "done_ns": done * MS}
            if event[1] == READ:
                outcome["rows_sent"] = 1 + (side == 1 and place in differing)
                place += 1
            outcomes.append(outcome)
        runs.append(make_run(folder / f"{side}.run", tape, outcomes, parameters={"speed": "1", **parameters}))
    settings = Settings(partitions=cut)
    report = build(tape, runs[1:], settings=settings) if alone else build(tape, runs[:1], runs[1:], settings)
    (row,) = report.answers["results"]
    assert row["known"] is None
    assert (row["digest"] in against_b(report)) == (row["reason"] != RACE)
    assert remedy_of(row).startswith("replay both sides with --order commit") == (row["reason"] == RACE)
    return None if row["reason"] is None else str(row["reason"])


BEFORE: Event = (2, WRITE, (25, 26), (25, 26))
OVERLAPS: Event = (2, WRITE, (25, 26), (30, 32))
MOVED: Event = (2, WRITE, (25, 26), (35, 36))
ALWAYS: list[Event] = [(2, WRITE, (10 * n, 10 * n + 2), (10 * n, 10 * n + 2)) for n in range(10)]
CASES: dict[str, tuple[list[Event], set[int], bool]] = {
    "a write overlaps on one side": ([OVERLAPS], {3}, True),
    "a write was before it on one side, after it on the other": ([MOVED], {3}, True),
    "the same writes were before it on both sides": ([BEFORE], {3}, False),
    "every execution differs, whatever overlaps": (ALWAYS, set(range(10)), False),
    "all but one differ, each beside a write": (ALWAYS, set(range(9)), True),
    "one of those that differ has no write near it": ([MOVED], {3, 1}, False),
    "its own session writes": ([(1, WRITE, (25, 26), (35, 36))], {3}, False),
    "another table is written": ([(2, "UPDATE other SET a = 1", (25, 26), (30, 32))], {3}, False),
    "nobody writes": ([], {3}, False),
    "two sessions raced before it": ([(2, WRITE, (15, 17), (15, 17)), (3, WRITE, (16, 18), (16, 18))], {3, 5}, True),
    "two sessions raced after it": ([(2, WRITE, (45, 47), (45, 47)), (3, WRITE, (46, 48), (46, 48))], {3}, False),
    "the write's transaction ends later on one side": ([BEFORE, (2, COMMIT, (28, 29), (35, 36))], {3}, True),
    "the write's transaction ends before it on both sides": ([BEFORE, (2, COMMIT, (28, 29), (28, 29))], {3}, False),
    "an open transaction of its own session": ([(1, WRITE, (25, 26), (25, 26)), (1, COMMIT, (55, 56), (55, 56))], {3}, False),
}  # fmt: skip


@pytest.mark.parametrize("cut", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_a_race_needs_evidence(case: str, cut: int, tmp_path: Path) -> None:
    """A write of another session to its table, beside each of those that differ, and not all differ."""
    events, differing, raced = CASES[case]
    assert reason(tmp_path, events, differing, REPLAY, False, cut) == (RACE if raced else None)


@pytest.mark.parametrize(
    ("events", "parameters", "raced"),
    [
        ([MOVED], REPLAY, True),
        ([MOVED], {"allow_writes": True, "order": "commit"}, False),
        ([BEFORE], REPLAY, False),
    ],
)
def test_one_run_and_its_tape(events: list[Event], parameters: dict[str, Any], raced: bool, tmp_path: Path) -> None:
    """The tape's own order is a side."""
    assert reason(tmp_path, events, {3}, parameters, True, 1) == (RACE if raced else None)


@pytest.mark.parametrize(
    "parameters", [{"allow_writes": True, "order": "commit"}, {"allow_writes": False, "order": "time"}]
)
def test_no_race_where_nothing_can_race(parameters: dict[str, Any], tmp_path: Path) -> None:
    """Under --order commit, and where no writes were sent."""
    assert reason(tmp_path, [OVERLAPS], {3}, parameters, False, 1) is None
