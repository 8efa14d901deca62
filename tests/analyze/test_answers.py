# SPDX-License-Identifier: Apache-2.0
"""Single analyses of runs with known outcomes. The tests include the exact limits of each rule."""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, Settings, build, failed, gate_values
from querytape.analyze.rows import StallsRow

from tests.helpers.reports import D1, D2
from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

BIN = 2**-10  # relative width of a bin
COPIES = 3
NAMES = ("", "one", "two", "three", "four", "five")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Build a report of two sessions of two events, which both runs replay in three copies. B has errors and changed
    results in known copies.
    """
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


def test_each_copy_is_compared_with_its_counterpart(copied: Report) -> None:
    """A copy of a session in A is compared with the same copy in B. For n copies this gives n pairs, not n times n."""
    answers = copied.answers
    assert {row["digest"]: row["n"] for row in answers["pairs"]} == {D1: 5, D2: 3}
    assert [(row["what"], row["events"]) for row in answers["errors"]] == [("both", 3), ("both", 1)]
    assert [(row["kind"], row["events"], row["more_sent"]) for row in answers["results"]] == [("rows", 3, 1 + 2 + 3)]
    everywhere = answers["failed_everywhere"][0]
    assert (everywhere["sent"], everywhere["succeeded"], everywhere["unknown"]) == (12, 4, 0)
    assert sum(row["events"] for row in answers["error_counts"] if row["run"] == "a") == 4
    assert {row["run"]: row["executed"] for row in answers["totals"]} == {"a": 12, "b": 12}


def test_failure_on_both_sides_counts_as_new_error(copied: Report) -> None:
    """The gate counts a failure of both runs if the statement succeeded on the tape. The error numbers of A and B may
    differ.
    """
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
def test_kind_of_error_depends_on_the_tape(
    tmp_path: Path, on_tape: int | None, numbers: tuple[int, int], what: str
) -> None:
    """The kind of an error depends on the outcomes of both runs and on the outcome on the tape."""
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
    """Build a report of one digest in three sessions. Each statement fails in B with a text that names its event.
    Outcomes are not sorted by time.
    """
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


def test_first_error_is_shown(many_errors: Report) -> None:
    """The example of an error comes from the first event on the tape, by session and position in the session."""
    (row,) = many_errors.answers["errors"]
    assert (row["what"], row["events"]) == ("new", 14)
    assert (row["first_session"], row["first_seq"]) == (1, 1)
    assert row["error"] == "in one near one"
    (counted,) = many_errors.answers["error_counts"]
    assert (counted["run"], counted["errno"], counted["events"]) == ("b", 1064, 14)
    assert counted["error"] == row["error"]


def test_first_changed_result_and_first_common_failure_are_shown(tmp_path: Path) -> None:
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


def stalled(
    tmp_path: Path, slow: list[tuple[int, int, str]], every: int = 5, answered: Sequence[int] = ()
) -> list[StallsRow]:
    """Return the stalls of a run.

    The run answers each statement in 1 ms. It sends one statement every few ms until 4 s and from 5 to 9 s. `slow`:
    additional statements as (sent in ms, answered in ms, digest). `answered`: additional answer times between 4 s and 5
    s.
    """
    calm = [ms for ms in range(0, 9000, every) if not 4000 <= ms < 5000 or ms in answered]
    rows = sorted([(ms, ms + 1, "0" * 16) for ms in calm] + slow)
    events = [{"statement": b"SELECT 1", "digest": digest, "start_ns": T0 + ms * MS} for ms, _, digest in rows]
    outcomes = [{"due_ns": sent * MS, "sent_ns": sent * MS, "done_ns": done * MS} for sent, done, _ in rows]
    tape = make_tape(tmp_path / "t.tape", events)
    return build(tape, [make_run(tmp_path / "a.run", tape, outcomes)]).answers["stalls"]


def test_cause_of_a_stall_waits_during_the_whole_stall(tmp_path: Path) -> None:
    """The cause is the digest that waited longest during the stall. Waits at the start of the stall or after its end do
    not matter.
    """
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


def test_each_of_two_stalls_has_its_own_row_and_digest(tmp_path: Path) -> None:
    one, other = "a" * 16, "b" * 16
    rows = stalled(tmp_path, [(4001 + n, 4390, one) for n in range(3)] + [(4601 + n, 4990, other) for n in range(3)])
    assert [row["digest"] for row in rows] == [one, other]


CAUSES = ("session", "order", "connect", "feeder", "tool")


def lateness_by_cause(outcome: dict[str, int], is_first: bool) -> dict[str, int]:
    """Return the parts of an event's lateness as the documentation defines them."""
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


def test_parts_of_lateness_add_up(tmp_path: Path) -> None:
    """Each millisecond of lateness has one cause. If the session and the feeder are both late, the session is the cause
    until the answer to its last statement arrives.
    """
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
        for cause, ns in lateness_by_cause(row, number < 3).items():
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


def test_most_frequent_errors_and_results_come_first(tmp_path: Path) -> None:
    """Rows with equal counts are sorted by error number and digest. Rows of A precede rows of B."""
    numbers = [1064] * 2 + [1146] * 3 + [1054] * 3 + [0] * 6
    digests = [D1] * 8 + [D1] * 2 + [D2] * 4
    events = [{"statement": b"SELECT 1", "digest": digest, "errno": 0} for digest in digests]
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"])
    write_digests(tape, {D1: "select a", D2: "select b"})
    sides = []
    for side in range(2):
        outcomes = [
            {"errno": n, "rows_sent": None if n else 1 + side * (i % 2 or i > 11)} for i, n in enumerate(numbers)
        ]
        for row in outcomes[:1] if side == 0 else []:
            row.update(errno=0, rows_sent=1)
        sides.append(make_run(tmp_path / f"{side}.run", tape, outcomes))
    answers = build(tape, sides[:1], sides[1:]).answers
    counts = [(row["run"], row["errno"], row["events"]) for row in answers["error_counts"]]
    assert counts == [("a", 1054, 3), ("a", 1146, 3), ("a", 1064, 1), ("b", 1054, 3), ("b", 1146, 3), ("b", 1064, 2)]
    assert [(row["digest"], row["events"], row["more_sent"]) for row in answers["results"]] == [(D2, 3, 3), (D1, 1, 1)]
    assert [(row["what"], row["events"]) for row in answers["errors"]] == [
        ("new", 1),
        ("both", 3),
        ("both", 3),
        ("both", 1),
    ]
    assert answers["failed_everywhere"][0]["succeeded_errno"] == 1054  # smaller error number first if counts are equal


def test_digests_without_text_and_statements_without_digest_are_compared(tmp_path: Path) -> None:
    digests = [D1, D2, None, None]
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"SELECT 1", "digest": digest} for digest in digests])
    write_digests(tape, {D1: "select a"})
    sides = [
        make_run(tmp_path / f"{side}.run", tape, [{"rows_sent": side, "errno": side * (n == 3)} for n in range(4)])
        for side in range(2)
    ]
    answers = build(tape, sides[:1], sides[1:]).answers
    assert {(row["digest"], row["events"]) for row in answers["results"]} == {(D1, 1), (D2, 1), (None, 1)}
    assert [(row["digest"], row["events"]) for row in answers["errors"]] == [(None, 1)]
    assert {row["digest"] for row in answers["digests"]} == {D1, D2}


def test_event_at_the_end_of_the_warm_up_is_measured(tmp_path: Path) -> None:
    """Events sent before the end of the warm-up are counted but not measured."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"SELECT 1", "digest": D1} for _ in range(6)])
    write_digests(tape, {D1: "select a"})
    run = make_run(tmp_path / "a.run", tape, [{"rows_sent": 1, "done_ns": n * MS + (n + 1) * 1000} for n in range(6)])
    total = build(tape, [run], settings=Settings(skip_ns=3 * MS)).answers["totals"][0]
    assert (total["executed"], total["service_ns"], total["service_max_ns"]) == (6, 4000 + 5000 + 6000, 6000)
    whole = build(tape, [run]).answers["totals"][0]
    assert whole["service_ns"] == 21_000


@pytest.mark.sampled
@pytest.mark.parametrize("n", [9_999, 10_000])
def test_rare_quantile_needs_enough_events(tmp_path: Path, n: int) -> None:
    """A run or digest has a p99.9 only if at least ten events lie above it."""
    columns = "1 AS session, range + 1 AS seq, 'query' AS command, 1000 AS precision_ns, 0 AS file, 0 AS flags"
    tape = make_tape(
        tmp_path / "t.tape",
        f"SELECT {columns}, {T0} + range * 1000 AS start_ns, range AS \"offset\", 'SELECT 1'::BLOB AS statement,"
        f" 'read' AS class, '{D1}' AS digest FROM range({n})",
    )
    write_digests(tape, {D1: "select a"})
    run = make_run(
        tmp_path / "a.run",
        tape,
        "SELECT 1 AS session, range + 1 AS seq, 0 AS clone, range * 1000 AS due_ns, due_ns AS sent_ns,"
        f" due_ns + range + 1 AS done_ns, 'executed' AS status, 0 AS errno FROM range({n})",
    )
    answers = build(tape, [run]).answers
    found = (answers["totals"][0]["service_p999_ns"], answers["digests"][0]["p999_ns"])
    assert found == (pytest.approx((9990, 9990), rel=BIN) if n == 10_000 else (None, None))
    assert answers["totals"][0]["service_p99_ns"] == pytest.approx(math.ceil(0.99 * n), rel=BIN)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("slow", "every", "answered", "wanted"),
    [
        ([], 5, range(0), []),  # no statement waited, so the traffic paused
        ([(3990, 4995)], 5, range(0), [(40, 10)]),  # without answers, one waiting statement is enough
        ([(3990, 4995)], 5, range(4000, 5000, 10), []),  # half of the usual number of answers is no stall
        ([(3990, 4995)], 5, range(4000, 5000, 20), [(40, 10)]),  # a quarter of the usual number of answers
        ([(3990, 4995)], 40, range(0), []),  # two or three answers per 0.1 s are too few to decide
        ([(4005, 4095)], 5, range(0), []),  # shorter than 0.1 s
        ([(6010, 6150)] * 3, 5, range(4000, 5000, 5), [(61, 1)]),  # three slow statements among normal ones
        ([(6010, 6150)] * 2, 5, range(4000, 5000, 5), []),
    ],
)
def test_stall_needs_waiting_statements(
    tmp_path: Path, slow: list[tuple[int, int]], every: int, answered: range, wanted: list[tuple[int, int]]
) -> None:
    """A stall has few answers while statements wait. It may also have three waiting statements and a service time ten
    times as long as usual. A pause of the traffic is no stall.
    """
    found = stalled(tmp_path, [(*pair, D2) for pair in slow], every, answered)
    assert [(row["at_ns"] // (100 * MS), row["long_ns"] // (100 * MS)) for row in found] == wanted


@pytest.mark.sampled
@pytest.mark.parametrize(("paired", "flag"), [(5, True), (4, False)])
def test_sides_are_paired_if_half_of_the_events_have_partners(tmp_path: Path, paired: int, flag: bool) -> None:
    """If fewer than half of the smaller side's events have a partner, the sides are compared without pairs."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"SELECT 1", "digest": D1} for _ in range(30)])
    write_digests(tape, {D1: "select a"})
    failed = {"errno": 1146, "rows_sent": None}
    a = [{} if n < 10 else failed for n in range(30)]
    b = [{"done_ns": n * MS + MS} if 10 - paired <= n < 20 - paired + 10 else failed for n in range(30)]
    runs = [make_run(tmp_path / f"{name}.run", tape, outcomes) for name, outcomes in (("a", a), ("b", b))]
    report = build(tape, runs[:1], runs[1:])
    assert report.answers["pairs"][0]["n"] == paired
    assert (shift := report.digests[0]["shift"])
    assert shift["paired"] is flag


def test_rounds_are_compared_with_first_round_of_a(tmp_path: Path) -> None:
    """The level of a round is the ratio of its digests' times to those in A's first round, weighted by events."""
    texts = {D1: "select a", D2: "select b"}
    events = [{"statement": b"SELECT 1", "digest": D1 if n % 4 else D2} for n in range(40)]
    tape = make_tape(tmp_path / "t.tape", events)
    write_digests(tape, texts)
    factors = {("a", 1): (1, 1), ("a", 2): (2, 1), ("b", 1): (4, 2), ("b", 2): (1, 8)}
    runs = {}
    for (side, number), pair in factors.items():
        rows = [{"done_ns": n * MS + 1000 * (pair[0] if n % 4 else 10 * pair[1])} for n in range(40)]
        if (side, number) == ("b", 2):
            rows[39].update(errno=1146)
        runs[side, number] = make_run(tmp_path / f"{side}{number}.run", tape, rows)
    answers = build(tape, [runs["a", 1], runs["a", 2]], [runs["b", 1], runs["b", 2]]).answers
    found = {(row["run"], row["round"]): row for row in answers["rounds"]}
    assert list(found) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert found["a", 1]["relative_latency"] == pytest.approx(1)
    assert found["a", 2]["relative_latency"] == pytest.approx(2**0.75)
    assert found["b", 1]["relative_latency"] == pytest.approx(4**0.75 * 2**0.25)
    assert found["b", 2]["relative_latency"] == pytest.approx(8 ** (10 / 39))
    assert (found["b", 2]["executed"], found["b", 2]["errors"], found["b", 1]["errors"]) == (40, 1, 0)
    span = (39 * MS + 1000 * 4) / 1e9
    assert found["b", 1]["per_second"] == pytest.approx(40 / span)
    assert (found["a", 1]["p50_ns"], found["a", 1]["p95_ns"], found["a", 2]["p50_ns"]) == (1000, 10_000, 2000)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("between_ns", "pairs"), [(20 * MS, 1), (100 * MS, 2), (1000 * MS, 10)], ids=["0.2 s", "1 s", "10 s"]
)
def test_pairs_within_half_a_second_count_once(tmp_path: Path, between_ns: int, pairs: int) -> None:
    """All pairs within half a second share the same state of the machine, so they count as one pair. Shorter time
    blocks do not change this. Pairs of different rounds are independent.
    """
    events = [{"statement": b"SELECT 1", "digest": D1, "start_ns": T0 + n * MS} for n in range(10)]
    tape = make_tape(tmp_path / "t.tape", events)
    write_digests(tape, {D1: "select a"})
    runs: dict[str, list[Path]] = {}
    for side, took in (("a", MS), ("b", 9 * MS)):
        rows = [{"sent_ns": n * between_ns, "done_ns": n * between_ns + took} for n in range(10)]
        runs[side] = [make_run(tmp_path / f"{side}{number}.run", tape, rows) for number in (1, 2)]
    words = [
        build(tape, runs["a"][:rounds], runs["b"][:rounds], Settings(undisturbed=True)).digests[0] for rounds in (1, 2)
    ]
    assert [entry["verdict"] for entry in words] == (["slower"] * 2 if pairs == 10 else ["inconclusive"] * 2)
    compared = {1: "1 undisturbed pair", 2: "2 undisturbed pairs", 10: "(10 pairs"}[pairs]
    assert compared in words[0]["why"]
    assert f"{2 * pairs} {'' if pairs == 10 else 'undisturbed '}pairs" in words[1]["why"]
