# SPDX-License-Identifier: Apache-2.0
"""When other results may be a race with writes of other sessions: only with evidence for each of them."""

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import build
from querytape.analyze.findings.remedies import of_result
from querytape.analyze.findings.results import RACE, against_b
from querytape.analyze.model import Settings

from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

READ, WRITE, COMMIT = "SELECT a FROM t WHERE id = 1", "UPDATE t SET a = a + 1", "COMMIT"
Event = tuple[int, str, tuple[int, int], tuple[int, int]]  # session, statement, its times in A and in B, in ms
Case = tuple[list[Event], set[int]]  # beside the reads; which of the reads differ
NOTHING = "nothing explains it"
REPLAY = {"allow_writes": True, "order": "time"}


def every(case: Case) -> list[Event]:
    """Return ten reads of session 1, one each 10 ms, and the case's events, as A sent them."""
    reads: list[Event] = [(1, READ, (10 * n, 10 * n + 1), (10 * n, 10 * n + 1)) for n in range(10)]
    return sorted(reads + case[0], key=lambda event: event[2])


def reasons(folder: Path, cases: Sequence[Case], parameters: dict[str, Any], alone: bool, cut: int) -> list[str]:
    """Return each case's reason for reads that differ. The cases share two runs; each has tables and sessions of its own.

    `alone`: of one run.
    """
    kinds = {READ: "read", COMMIT: "transaction"}
    rows: list[dict[str, Any]] = []
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for number, case in enumerate(cases):
        place = 0
        for session, text, *times in every(case):
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
    settings = Settings(partitions=cut)
    report = build(tape, runs[1:], settings=settings) if alone else build(tape, runs[:1], runs[1:], settings)
    found: dict[int, str] = {}
    for row in report.answers["results"]:
        assert row["known"] is None
        assert (row["digest"] in against_b(report)) == (row["reason"] != RACE)
        assert of_result(row).remedy.startswith("replay both sides with --order commit") == (row["reason"] == RACE)
        number = int(row["digest"][:8], 16)
        assert number not in found
        found[number] = row["reason"] or NOTHING
    return [found[number] for number in range(len(cases))]


BEFORE: Event = (2, WRITE, (25, 26), (25, 26))
OVERLAPS: Event = (2, WRITE, (25, 26), (30, 32))
MOVED: Event = (2, WRITE, (25, 26), (35, 36))
ALWAYS: list[Event] = [(2, WRITE, (10 * n, 10 * n + 2), (10 * n, 10 * n + 2)) for n in range(10)]
CASES: dict[str, tuple[list[Event], set[int], bool]] = {  # whether it may be a race
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


@pytest.fixture(scope="module", params=[1, 3])
def of_cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The reason for each of CASES, without partitions and with three."""
    cases = [(events, differing) for events, differing, _ in CASES.values()]
    found = reasons(tmp_path_factory.mktemp("races"), cases, REPLAY, False, request.param)
    return dict(zip(CASES, found, strict=True))


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
def test_a_race_needs_evidence(case: str, of_cases: dict[str, str]) -> None:
    """A write of another session to its table, beside each of those that differ, and not all differ."""
    assert of_cases[case] == (RACE if CASES[case][2] else NOTHING)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("parameters", "cut", "wanted"),
    [(REPLAY, 3, [RACE, NOTHING]), ({"allow_writes": True, "order": "commit"}, 1, [NOTHING, NOTHING])],
)
def test_one_run_and_its_tape(parameters: dict[str, Any], cut: int, wanted: list[str], tmp_path: Path) -> None:
    """The tape's own order is a side. Digests so large are in several partitions."""
    assert reasons(tmp_path, [([MOVED], {3}), ([BEFORE], {3})], parameters, True, cut) == wanted


@pytest.mark.parametrize(
    "parameters", [{"allow_writes": True, "order": "commit"}, {"allow_writes": False, "order": "time"}]
)
def test_no_race_where_nothing_can_race(parameters: dict[str, Any], tmp_path: Path) -> None:
    """Under --order commit, and where no writes were sent."""
    assert reasons(tmp_path, [([OVERLAPS], {3})], parameters, False, 1) == [NOTHING]
