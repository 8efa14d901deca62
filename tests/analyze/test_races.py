# SPDX-License-Identifier: Apache-2.0
"""Changed results that may be a race with writes of other sessions. Each changed result needs evidence of its own."""

import random
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import build
from querytape.analyze.findings.remedies import of_result
from querytape.analyze.findings.results import against_b

from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

READ, WRITE, COMMIT = "SELECT a FROM t WHERE id = 1", "UPDATE t SET a = a + 1", "COMMIT"
Event = tuple[int, str, tuple[int, int], tuple[int, int]]  # session, statement, (sent, done) in A and in B, in ms
Case = tuple[list[Event], set[int]]  # events other than the reads; numbers of the reads that differ
RACE = "perhaps_race"
NOTHING = "nothing explains it"
REPLAY = {"allow_writes": True, "order": "time"}


def events_of_case(case: Case) -> list[Event]:
    """Return ten reads of session 1, one every 10 ms, with the events of the case. The list is sorted by the times of
    A.
    """
    reads: list[Event] = [(1, READ, (10 * n, 10 * n + 1), (10 * n, 10 * n + 1)) for n in range(10)]
    return sorted(reads + case[0], key=lambda event: event[2])


def reasons(folder: Path, cases: Sequence[Case], parameters: dict[str, Any], alone: bool) -> list[str]:
    """Return the reason that the report gives for the changed reads of each case.

    The cases share two runs, but each case has its own tables and sessions. If `alone` is true, the report is of a
    single run.
    """
    kinds = {READ: "read", COMMIT: "transaction"}
    rows: list[dict[str, Any]] = []
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for number, case in enumerate(cases):
        place = 0
        for session, text, *times in events_of_case(case):
            own = {"session": 10 * number + session}
            statement = re.sub(r"\b(t|other)\b", rf"\g<1>{number}", text)
            digest = f"{number:08x}{zlib.crc32(text.encode()):08x}"
            rows.append(
                own | {"statement": statement, "digest": digest, "class": kinds.get(text, "write"), "errno": 0,
                       "start_ns": T0 + times[0][0] * MS, "rows_sent": 1}
            )  # fmt: skip
            for side, (sent, done) in enumerate(times):
                outcome = own | {"due_ns": sent * MS, "done_ns": done * MS}
                if text == READ:
                    outcome["rows_sent"] = 1 + (side == 1 and place in case[1])
                sides[side].append(outcome)
            place += text == READ
    tape = make_tape(folder / "t.tape", rows, known_columns=["errno", "rows_sent"])
    runs = [
        make_run(folder / f"{side}.run", tape, outcomes, parameters={"speed": "1", **parameters})
        for side, outcomes in enumerate(sides)
    ]
    report = build(tape, runs[1:]) if alone else build(tape, runs[:1], runs[1:])
    found: dict[int, str] = {}
    for row in report.answers["results"]:
        assert row["known"] is None
        assert (row["digest"] in against_b(report)) == (row["reason"] != RACE)
        assert of_result(row).remedy.startswith("replay both sides with --order commit") == (row["reason"] == RACE)
        number = int((row["digest"] or "")[:8], 16)
        assert number not in found
        found[number] = row["reason"] or NOTHING
    return [found[number] for number in range(len(cases))]


BEFORE: Event = (2, WRITE, (25, 26), (25, 26))
OVERLAPS: Event = (2, WRITE, (25, 26), (30, 32))
MOVED: Event = (2, WRITE, (25, 26), (35, 36))
ALWAYS: list[Event] = [(2, WRITE, (10 * n, 10 * n + 2), (10 * n, 10 * n + 2)) for n in range(10)]


def row(text: str) -> Event:
    """Return a write that overlaps the fourth read on one side."""
    return (2, text, *OVERLAPS[2:])


CASES: dict[str, tuple[list[Event], set[int], bool]] = {  # the last value: may it be a race?
    "a write overlaps on one side": ([OVERLAPS], {3}, True),
    "a write runs before the read on one side and after it on the other": ([MOVED], {3}, True),
    "the same writes run before the read on both sides": ([BEFORE], {3}, False),
    "every execution differs, with or without overlapping writes": (ALWAYS, set(range(10)), False),
    "all executions except one differ, each next to a write": (ALWAYS, set(range(9)), True),
    "one different execution has no write nearby": ([MOVED], {3, 1}, False),
    "the session of the read writes": ([(1, WRITE, (25, 26), (35, 36))], {3}, False),
    "another table is written": ([(2, "UPDATE other SET a = 1", (25, 26), (30, 32))], {3}, False),
    "no session writes": ([], {3}, False),
    "two sessions raced before the read": ([(2, WRITE, (15, 17), (15, 17)), (3, WRITE, (16, 18), (16, 18))], {3, 5}, True),
    "two sessions raced after the read": ([(2, WRITE, (45, 47), (45, 47)), (3, WRITE, (46, 48), (46, 48))], {3}, False),
    "the write's transaction ends later on one side": ([BEFORE, (2, COMMIT, (28, 29), (35, 36))], {3}, True),
    "the write's transaction ends before the read on both sides": ([BEFORE, (2, COMMIT, (28, 29), (28, 29))], {3}, False),
    "another row is written": ([row("UPDATE t SET a = 2 WHERE id = 2")], {3}, False),
    "another row is written, with its id as text": ([row("UPDATE t SET a = 2 WHERE id = '2'")], {3}, False),
    "the row of the read is written": ([row("UPDATE t SET a = 2 WHERE b = 3 AND id = 1")], {3}, True),
    "a row is written by another column": ([row("UPDATE t SET a = 2 WHERE b = 2")], {3}, True),
    "a row is written by a value that may be equal": ([row("UPDATE t SET a = 2 WHERE id = '1 '")], {3}, True),
    "another row gets the id of the read": ([row("UPDATE t SET id = 1 WHERE id = 2")], {3}, True),
    "another row and the row of the read are deleted": ([row("DELETE FROM t WHERE id = 2 OR id = 1")], {3}, True),
    "another row is inserted": ([row("INSERT INTO t (b, id) VALUES (1, 2)")], {3}, False),
    "the row of the read is inserted": ([row("INSERT INTO t (b, id) VALUES (2, 1)")], {3}, True),
    "rows are inserted": ([row("INSERT INTO t (b, id) VALUES (2, 2), (2, 1)")], {3}, True),
    "the next id is inserted": ([row("INSERT INTO t (b, id) VALUES (2, 0)")], {3}, True),
    "a row with one of two keys is replaced": ([row("REPLACE INTO t (b, id) VALUES (1, 2)")], {3}, True),
    "a row is inserted or updated by one of two keys": (
        [row("INSERT INTO t (b, id) VALUES (1, 2) ON DUPLICATE KEY UPDATE b = 3")], {3}, True
    ),
    "two sessions raced before the read on another row": (
        [(2, "UPDATE t SET a = 1 WHERE id = 2", (15, 17), (15, 17)), (3, "DELETE FROM t WHERE id = 2", (16, 18), (16, 18))],
        {3},
        False,
    ),
    "two sessions raced before the read, one on the row of the read": (
        [(2, "UPDATE t SET a = 1", (15, 17), (15, 17)), (3, "UPDATE t SET a = 2 WHERE id = 1", (16, 18), (16, 18))],
        {3},
        True,
    ),
    "the session of the read has an open transaction": ([(1, WRITE, (25, 26), (25, 26)), (1, COMMIT, (55, 56), (55, 56))], {3}, False),
}  # fmt: skip


@pytest.fixture(scope="module")
def reasons_of_cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the reason for each case in CASES."""
    cases = [(events, differing) for events, differing, _ in CASES.values()]
    found = reasons(tmp_path_factory.mktemp("races"), cases, REPLAY, False)
    return dict(zip(CASES, found, strict=True))


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
def test_race_needs_evidence(case: str, reasons_of_cases: dict[str, str]) -> None:
    """Another session must write to the table near each read that differs. At least one read must not differ."""
    assert reasons_of_cases[case] == (RACE if CASES[case][2] else NOTHING)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [(REPLAY, [RACE, NOTHING]), ({"allow_writes": True, "order": "commit"}, [NOTHING, NOTHING])],
)
def test_race_is_found_between_single_run_and_tape(
    parameters: dict[str, Any], wanted: list[str], tmp_path: Path
) -> None:
    """For a single run, the order on the tape replaces the order of the other side."""
    assert reasons(tmp_path, [([MOVED], {3}), ([BEFORE], {3})], parameters, True) == wanted


@pytest.mark.parametrize(
    "parameters", [{"allow_writes": True, "order": "commit"}, {"allow_writes": False, "order": "time"}]
)
def test_order_commit_or_missing_writes_exclude_races(parameters: dict[str, Any], tmp_path: Path) -> None:
    assert reasons(tmp_path, [([OVERLAPS], {3})], parameters, False) == [NOTHING]


# Each write has a text and an effect on the rows (id, a).
Rows = list[tuple[int, int]]
Change = Callable[[Rows, int, int], Rows]
WRITES: list[tuple[str, Change]] = [
    ("UPDATE t SET a = {k} WHERE id = {n}", lambda rows, n, k: [(i, k if i == n else a) for i, a in rows]),
    ("UPDATE t SET a = 2 * a + {k} WHERE id = '{n}'", lambda rows, n, k: [(i, 2 * a + k if i == n else a) for i, a in rows]),
    ("UPDATE t SET a = a + 3 WHERE a > {k}", lambda rows, n, k: [(i, a + 3 if a > k else a) for i, a in rows]),
    ("UPDATE t SET id = {k} WHERE id = {n}", lambda rows, n, k: [(k if i == n else i, a) for i, a in rows]),
    ("DELETE FROM t WHERE id = {n} AND a <> {k}", lambda rows, n, k: [(i, a) for i, a in rows if i != n or a == k]),
    ("INSERT INTO t (a, id) VALUES ({k}, {n})", lambda rows, n, k: [*rows, (n, k)]),
    ("INSERT INTO t VALUES ({n}, {k})", lambda rows, n, k: [*rows, (n, k)]),
    ("INSERT INTO t (id, a) VALUES (2, {k}), ({n}, 4)", lambda rows, n, k: [*rows, (2, k), (n, 4)]),
]  # fmt: skip


def rows_at(moment: float, effects: Sequence[tuple[float, Change, int, int]]) -> list[int]:
    """Return the result of a read of row 1 at a given time."""
    rows = [(1, 1), (2, 2)]
    for _, change, n, k in sorted(effect for effect in effects if effect[0] < moment):
        rows = change(rows, n, k)
    return sorted(a for i, a in rows if i == 1)


def history(chance: random.Random) -> Case:
    """Return random writes of three sessions, and the numbers of the reads of row 1 that the writes change.

    Each session sends its writes in order. On each side, a write takes effect at one point in time between its start
    and its end.
    """
    events: list[Event] = []
    effects: tuple[list[tuple[float, Change, int, int]], ...] = ([], [])  # for each side: time and effect of each write
    for session in (2, 3, 4):
        free = [0, 0]
        for _ in range(chance.randint(0, 5)):
            text, change = chance.choice(WRITES)
            n, k = chance.randint(1, 3), chance.randint(1, 3)
            begin = max(*free, chance.randint(0, 90))
            times: list[tuple[int, int]] = []
            for side in range(2):
                sent = max(free[side], begin + chance.choice((0, 0, 1, 7)))
                done = sent + chance.randint(1, 12)
                effects[side].append((chance.uniform(sent, done), change, n, k))
                times.append((sent, done))
                free[side] = done + 1
            events.append((session, text.format(n=n, k=k), times[0], times[1]))
    seen = [[rows_at(chance.uniform(10 * n, 10 * n + 1), effects[side]) for n in range(10)] for side in range(2)]
    return events, {n for n in range(10) if seen[0][n] != seen[1][n]}


@pytest.mark.parametrize("seed", range(3))
def test_races_never_count_against_b(seed: int, tmp_path: Path) -> None:
    """Both servers have the same data and statements. Only the moments of execution differ, so a race is the only
    explanation.
    """
    chance = random.Random(seed)
    cases = [case for case in (history(chance) for _ in range(400)) if 0 < len(case[1]) < 10]
    assert len(cases) > 100
    assert set(reasons(tmp_path, cases, REPLAY, False)) == {RACE}
