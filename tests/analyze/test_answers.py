# SPDX-License-Identifier: Apache-2.0
"""Single analyses against what was put into the runs: copies of sessions, first errors, causes of stalls and lateness."""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build, failed, gate_values
from querytape.analyze.rows import StallsRow

from tests.helpers.reports import D1, D2
from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

COPIES = 3
NAMES = ("", "one", "two", "three", "four", "five")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Two sessions of two events, each replayed three times; B has errors and other results in known copies."""
    folder = tmp_path_factory.mktemp("copies")
    events = [
        {"session": s, "statement": b"SELECT 1", "digest": (D1, D2)[n], "errno": 0} for n in range(2) for s in (1, 2)
    ]
    tape = make_tape(folder / "t.tape", events, known_columns=["errno"])
    write_digests(tape, {D1: "select a", D2: "select b"})
    sides = []
    for side in range(2):
        outcomes = []
        for clone in range(COPIES):
            for session in (1, 2):
                for seq in (1, 2):
                    row: dict[str, Any] = {"session": session, "seq": seq, "clone": clone, "rows_sent": 1}
                    row["done_ns"] = row["sent_ns"] = row["due_ns"] = (clone * 4 + seq) * MS
                    row["done_ns"] += MS << side
                    if side and session == 1 and seq == 1:
                        row["rows_sent"] = 2 + clone
                    if session == 2 and seq == 2:
                        row.update(errno=1054 if side else 1146, error=f"copy {clone} of {side}", rows_sent=None)
                    if clone == 2 and session == 2 and seq == 1:
                        row.update(errno=1205, error="both", rows_sent=None)
                    outcomes.append(row)
        sides.append(make_run(folder / f"{side}.run", tape, outcomes))
    return build(tape, sides[:1], sides[1:])


def test_each_copy_is_compared_with_its_own(copied: Report) -> None:
    """A copy of a session in A stands beside the same copy in B: n pairs, not n times n."""
    answers = copied.answers
    assert {row["digest"]: row["n"] for row in answers["pairs"]} == {D1: 5, D2: 3}
    assert [(row["what"], row["events"]) for row in answers["errors"]] == [("both", 3), ("both", 1)]
    assert [(row["kind"], row["events"], row["more_sent"]) for row in answers["results"]] == [("rows", 3, 1 + 2 + 3)]
    everywhere = answers["failed_everywhere"][0]
    assert (everywhere["sent"], everywhere["succeeded"], everywhere["unknown"]) == (12, 4, 0)
    assert sum(row["events"] for row in answers["error_counts"] if row["run"] == "a") == 4
    assert {row["run"]: row["executed"] for row in answers["totals"]} == {"a": 12, "b": 12}


def test_what_fails_on_both_sides_is_a_new_error_for_the_gate(copied: Report) -> None:
    """A statement that fails in both runs counts where the tape knows that it had succeeded, whatever the numbers."""
    values = gate_values(copied)
    assert (values["new_errors"], values["failed_on_both"]) == (4, 4)
    assert values["gone_errors"] == 0
    assert failed("new_errors > 0", values) == ["new_errors > 0"]
    assert failed("new_errors > 4", values) == []
    assert {entry["digest"]: entry["new_errors"] for entry in copied.digests} == {D1: 0, D2: 0}
    assert {entry["digest"]: entry["failed_on_both"] for entry in copied.digests} == {D1: 1, D2: 3}
    assert {entry["verdict"] for entry in copied.digests} == {"errors changed"}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("on_tape", "numbers", "what"),
    [
        (0, (1064, 1064), "both"),
        (0, (1064, 1146), "both"),
        (None, (1064, 1064), "same"),
        (None, (1064, 1146), "changed"),
        (1064, (1064, 1064), "same"),
        (1146, (1064, 1146), "changed"),
        (0, (0, 1064), "new"),
        (None, (0, 1064), "new"),
        (1064, (0, 1064), "new"),
        (0, (1064, 0), "gone"),
        (1064, (1064, 0), "gone"),
    ],
)
def test_the_tape_is_a_side_of_errors(tmp_path: Path, on_tape: int | None, numbers: tuple[int, int], what: str) -> None:
    """What an error is called depends on both runs and on what the tape knows of its event."""
    events = [{"statement": b"SELECT 1", "digest": D1, "errno": on_tape} for _ in range(3)]
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"] if on_tape is not None else [])
    runs = [make_run(tmp_path / f"{n}.run", tape, [{"errno": errno}] * 3) for n, errno in enumerate(numbers)]
    report = build(tape, runs[:1], runs[1:])
    assert [(row["what"], row["tape"], row["events"]) for row in report.answers["errors"]] == [(what, on_tape, 3)]
    values = gate_values(report)
    assert values["new_errors"] == (3 if what in ("new", "both", "changed") else 0)
    assert values["failed_on_both"] == (3 if what == "both" else 0)


@pytest.fixture(scope="module")
def many_errors(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One digest in three sessions: every statement of B fails, with texts that name the event, in no order of time."""
    folder = tmp_path_factory.mktemp("errors")
    order = [(session, seq) for session in (1, 2, 3) for seq in range(1, 6)]
    events = [
        {"session": session, "seq": seq, "statement": b"SELECT 1", "digest": D1, "errno": 0} for session, seq in order
    ]
    tape = make_tape(folder / "t.tape", events, known_columns=["errno"])
    write_digests(tape, {D1: "select a"})
    late_first = list(reversed(order))
    random.Random(3).shuffle(late_first)
    runs = []
    for side in range(2):
        outcomes = [
            {
                "session": session,
                "seq": seq,
                "rows_sent": 1,
                "errno": 1064 if side and (session, seq) != (3, 5) else 0,
                "error": f"in {NAMES[session]} near {NAMES[seq]}" if side else None,
                **({"rows_sent": 9} if side and (session, seq) == (3, 5) else {}),
            }
            for session, seq in late_first
        ]
        runs.append(make_run(folder / f"{side}.run", tape, outcomes))
    return build(tape, runs[:1], runs[1:])


def test_the_first_error_is_shown(many_errors: Report) -> None:
    """The example of an error is that of the first event on the tape, by session and place, with its own text."""
    (row,) = many_errors.answers["errors"]
    assert (row["what"], row["events"]) == ("new", 14)
    assert (row["first_session"], row["first_seq"]) == (1, 1)
    assert row["error"] == "in one near one"
    (counted,) = many_errors.answers["error_counts"]
    assert (counted["run"], counted["errno"], counted["events"]) == ("b", 1064, 14)
    assert counted["error"] == row["error"]


def test_the_first_of_other_results_is_shown(tmp_path: Path) -> None:
    """The same for results that differ, and for what failed on both sides."""
    events = [{"session": s, "statement": b"SELECT 1", "digest": D1, "errno": 0} for s in (1, 2) for _ in range(4)]
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"])
    write_digests(tape, {D1: "select a"})
    sides = []
    for side in range(2):
        outcomes: list[dict[str, Any]] = []
        for session in (2, 1):
            for seq in (4, 3, 2, 1):
                row: dict[str, Any] = {"session": session, "seq": seq, "rows_sent": 1 + side * (seq % 2)}
                if seq % 2 == 0:
                    row.update(rows_sent=None, errno=1146, error=f"place {session}{seq}")
                outcomes.append(row)
        sides.append(make_run(tmp_path / f"{side}.run", tape, outcomes))
    answers = build(tape, sides[:1], sides[1:]).answers
    (result,) = answers["results"]
    assert (result["first_session"], result["first_seq"], result["events"]) == (1, 1, 4)
    everywhere = answers["failed_everywhere"][0]
    assert (everywhere["first_session"], everywhere["first_seq"]) == (1, 2)
    assert (everywhere["sent"], everywhere["succeeded"], everywhere["succeeded_errno"]) == (8, 4, 1146)


def stalled(tmp_path: Path, slow: list[tuple[int, int, str]]) -> list[StallsRow]:
    """Return the stalls of a run that answers every 5 ms from 0 to 4 s and from 5 to 9 s.

    `slow`: (sent in ms, answered in ms, digest) of others. Between 4 and 5 s only they are on their way.
    """
    calm = [ms for ms in range(0, 9000, 5) if not 4000 <= ms < 5000]
    rows = sorted([(ms, ms + 1, "0" * 16) for ms in calm] + slow)
    events = [{"statement": b"SELECT 1", "digest": digest, "start_ns": T0 + ms * MS} for ms, _, digest in rows]
    outcomes = [{"due_ns": sent * MS, "sent_ns": sent * MS, "done_ns": done * MS} for sent, done, _ in rows]
    tape = make_tape(tmp_path / "t.tape", events)
    return build(tape, [make_run(tmp_path / "a.run", tape, outcomes)]).answers["stalls"]


def test_the_cause_of_a_stall_is_of_its_whole_time(tmp_path: Path) -> None:
    """What waited longest in all of a stall is its cause, not what waited as it began; nor what came after it."""
    first, cause, after = "a" * 16, "b" * 16, "c" * 16
    slow = [(4001 + n, 4150 + n, first) for n in range(3)]
    slow += [(4210 + n, 4990, cause) for n in range(4)]
    slow += [(6000 + n, 7500, after) for n in range(1)]
    (row,) = stalled(tmp_path, slow)
    assert row["digest"] == cause
    assert row["at_ns"] in (3900 * MS, 4000 * MS)
    assert 900 * MS <= row["long_ns"] <= 1100 * MS
    assert row["longest_ns"] == 780 * MS
    assert row["errors"] == 0


def test_two_stalls_have_their_own_causes(tmp_path: Path) -> None:
    """Each stall is one row with its own digest; the times between belong to none."""
    one, other = "a" * 16, "b" * 16
    rows = stalled(tmp_path, [(4001 + n, 4390, one) for n in range(3)] + [(4601 + n, 4990, other) for n in range(3)])
    assert [row["digest"] for row in rows] == [one, other]


CAUSES = ("session", "order", "connect", "feeder", "tool")


def blame(outcome: dict[str, int], is_first: bool) -> dict[str, int]:
    """Return what an event's lateness is made of, as the docs tell it."""
    due, free, queued, sent = (outcome[name] for name in ("due_ns", "free_ns", "queued_ns", "sent_ns"))
    busy = max(0, free - due)
    order = min(busy, outcome["order_ns"])
    ready = max(due, free)
    return {
        "session": 0 if is_first else busy - order,
        "connect": busy - order if is_first else 0,
        "order": order,
        "feeder": max(0, queued - ready),
        "tool": sent - max(ready, queued),
    }


def test_the_parts_of_lateness_add_up(tmp_path: Path) -> None:
    """Each millisecond has one cause: where session and feeder are both late, the session is to blame up to its answer."""
    chance = random.Random(11)
    outcomes, events, wanted = [], [], dict.fromkeys(CAUSES, 0)
    late, longest = 0, dict.fromkeys(CAUSES, 0)
    for number in range(300):
        session, due = 1 + number % 3, number * 50 * MS
        free, queued = (due + chance.randrange(-20, 20) * MS for _ in range(2))
        row = {"session": session, "due_ns": due, "free_ns": free, "queued_ns": queued}
        row["order_ns"] = chance.choice((0, 0, 2 * MS, 90 * MS))
        row["sent_ns"] = max(due, free, queued) + chance.randrange(3) * MS
        row["done_ns"] = row["sent_ns"] + MS
        for cause, ns in blame(row, number < 3).items():
            wanted[cause] += ns
            longest[cause] = max(longest[cause], ns)
        late += row["sent_ns"] - due
        outcomes.append(row)
        events.append({"session": session, "statement": b"SELECT 1", "digest": D1, "start_ns": T0 + due})
    tape = make_tape(tmp_path / "t.tape", events)
    rows = {
        row["cause"]: row for row in build(tape, [make_run(tmp_path / "a.run", tape, outcomes)]).answers["lateness"]
    }
    assert {cause: rows[cause]["total_ns"] for cause in CAUSES} == wanted
    assert {cause: rows[cause]["max_ns"] for cause in CAUSES} == longest
    assert rows["all"]["total_ns"] == late == sum(rows[cause]["total_ns"] for cause in CAUSES)
    assert {row["events"] for row in rows.values()} == {300}
