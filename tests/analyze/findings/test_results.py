# SPDX-License-Identifier: Apache-2.0
"""Changed results: the text of each kind and the known reasons."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build
from querytape.analyze.findings.headline import headline
from querytape.analyze.findings.results import against_b, unexplained, unproven_sentences
from querytape.analyze.rows import ResultsRow
from querytape.schemas.result_names import RESULT_KINDS

from tests.helpers.runs import make_run
from tests.helpers.shapes import answers_of, rows_of
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def test_result_kinds_in_sql_and_texts_are_equal(checkout: Path) -> None:
    folder = checkout / "analyze" / "sql"
    text = (folder / "prelude.sql").read_text() + (folder / "summary" / "join.sql").read_text()
    (kinds,) = re.findall(r"CREATE TYPE result_kind AS ENUM \(([^)]*)\)", text)
    assert set(re.findall(r"'(\w+)'", kinds)) == set(RESULT_KINDS)
    (chosen,) = re.findall(r"CASE((?:(?!CASE).)*)END::result_kind AS kind", text, re.S)
    assert set(re.findall(r"'(\w+)'", chosen)) == set(RESULT_KINDS)


def test_explained_result_does_not_count_as_unexplained(small_report: Report) -> None:
    (row,) = unexplained(small_report)
    assert row["kind"] == "rows"
    known = Report(small_report.tape, [], [], answers=answers_of(results=[{**row, "known": "chance"}]))
    assert list(unexplained(known)) == []


def test_command_without_statement_has_no_result(tmp_path: Path) -> None:
    """A ping has no result. Row counts that the tape or a run contains for a ping are ignored."""
    ping = {"command": "ping", "rows_sent": 7, "errno": 0}
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "rows_sent": 1, "errno": 0}, ping])
    runs = [make_run(tmp_path / f"{n}.run", tape, [{"rows_sent": 1}, {"rows_sent": n}]) for n in range(2)]
    assert build(tape, runs[:1]).answers["results"] == []
    assert build(tape, runs[:1], runs[1:]).answers["results"] == []


SUM = {"a": "text:0000000000000001:0000000000000002", "order": "text:0000000000000003:0000000000000002"}
SUM["data"] = "text:0000000000000003:0000000000000004"


UPGRADE, EQUAL = ("5.7.44", "8.0.42"), ("8.0.42", "8.0.43")
FROM_MARIADB, TO_MARIADB = ("10.11.6-MariaDB", "8.4.3"), ("5.7.44", "10.11.6-MariaDB")


EXPLAINED = [  # text, kind of difference, versions, whether the reason is known, reason
    ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", UPGRADE, None, "group_by_unsorted"),
    ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", FROM_MARIADB, None, "group_by_unsorted"),
    ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", EQUAL, None, "unsorted"),
    ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", TO_MARIADB, None, "unsorted"),
    ("SELECT a, COUNT(*) FROM t GROUP BY a", "data", UPGRADE, None, None),
    ("SELECT a, COUNT(*) FROM t GROUP BY a LIMIT 3", "data", UPGRADE, None, "group_by_unsorted"),
    (
        "SELECT a, COUNT(*) FROM t GROUP BY a LIMIT 3",
        "data",
        EQUAL,
        "limit_unsorted",
        "limit_unsorted",
    ),
    ("SELECT a FROM t GROUP BY a ORDER BY a", "order", UPGRADE, None, "ties"),
    ("SELECT a FROM t ORDER BY b LIMIT 3", "data", EQUAL, None, "ties_under_limit"),
    ("SELECT a FROM t ORDER BY b", "data", EQUAL, None, None),
    ("SELECT a FROM t LIMIT 3", "data", UPGRADE, "limit_unsorted", "limit_unsorted"),
    ("SELECT a FROM t", "order", EQUAL, None, "unsorted"),
    ("SELECT a FROM t", "data", EQUAL, None, None),
    ("SELECT GROUP_CONCAT(a) FROM t", "data", EQUAL, None, "concat_unsorted"),
    ("SELECT GROUP_CONCAT(a ORDER BY a) FROM t", "data", EQUAL, None, None),
]


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[int, ResultsRow]:
    """Build one report for each pair of versions. Return the results.sql row of each case in EXPLAINED."""
    found: dict[int, ResultsRow] = {}
    for versions in (UPGRADE, EQUAL, FROM_MARIADB, TO_MARIADB):
        folder = tmp_path_factory.mktemp("explained")
        cases = {number: case for number, case in enumerate(EXPLAINED) if case[2] == versions}
        events = [
            {"statement": case[0], "digest": f"{number:016x}", "errno": 0}
            for number, case in cases.items()
            for _ in range(3)
        ]
        tape = make_tape(folder / "t.tape", events)
        runs = [
            make_run(
                folder / f"{letter}.run",
                tape,
                [
                    {"rows_sent": 5, "checksum": SUM["a" if letter == "a" else case[1]]}
                    for case in cases.values()
                    for _ in range(3)
                ],
                target={"name": letter, "version": version},
            )
            for letter, version in zip("ab", versions, strict=True)
        ]
        rows = build(tape, runs[:1], runs[1:]).answers["results"]
        assert len(rows) == len(cases)
        found |= {int(row["digest"] or "", 16): row for row in rows}
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(len(EXPLAINED)), ids=[f"{case[0]}-{case[1]}-{case[2]}" for case in EXPLAINED])
def test_reason_of_changed_result(number: int, explained: dict[int, ResultsRow]) -> None:
    """If A sorted and B does not, a lost implicit sort counts against B. Other reasons are ties and a missing ORDER BY."""
    row, (_, kind, _, known, reason) = explained[number], EXPLAINED[number]
    assert (row["kind"], row["known"], row["reason"], row["events"]) == (kind, known, reason, 3)


Write = tuple[dict[str, Any], bool, int, str | None]
WRITES: list[Write] = [  # the write, whether the case compares two runs, number of later reads, reason
    ({"errno": 1062}, True, 2, "failed"),
    ({"errno": 1062}, False, 2, "failed"),
    ({"rows_affected": 7}, True, 2, "changed_others"),
    ({"status": "not_sent", "reason": "connection_lost"}, True, 2, "not_sent"),
    ({"status": "filtered", "reason": "write"}, True, 2, "not_sent"),
    ({"status": "not_sent", "reason": "connection_lost"}, False, 2, "not_sent"),
    ({"errno": 1062, "place": 2}, True, 1, None),
    ({"status": "not_sent", "place": 2}, True, 1, None),
    ({"errno": 1062, "table": "shop.Other"}, True, 0, None),
    ({"status": "not_sent", "table": "shop.Other"}, True, 0, None),
    ({"errno": 1062, "both": True}, True, 0, None),
    ({"status": "not_sent", "both": True}, True, 0, None),
]


def case_of_write(number: int, write: dict[str, Any]) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """Return the events of a write case and the outcomes on both sides. Each case has its own tables and session."""
    own = {"session": number + 1}
    table = write.get("table", "`shop`.T")
    insert = {"statement": f"INSERT INTO {table}{number} VALUES (1)", "class": "write", "errno": 0}
    read: dict[str, Any] = {"statement": f"SELECT a FROM t{number} JOIN u{number}", "errno": 0, "rows_sent": 1}
    events: list[dict[str, Any]] = [own | read | {"digest": f"{number:016x}"}] * 2
    place = write.get("place", 0)
    events.insert(place if place < 2 else 1, {**own, **insert, "rows_affected": 1})
    sides: list[list[dict[str, Any]]] = []
    for side in range(2):
        rows: list[dict[str, Any]] = []
        for event in events:
            if "INSERT" not in str(event["statement"]):
                rows.append(own | {"rows_sent": 1 + side})
            elif side or write.get("both"):
                rows.append(own | {key: value for key, value in write.items() if key not in ("place", "table", "both")})
            else:
                rows.append(own | {"rows_affected": 1})
        sides.append(rows)
    return events, sides


@pytest.fixture(scope="module")
def after_writes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, ResultsRow]:
    """Build a report of two runs and a report of one run. Return the results.sql row of each case in WRITES."""
    found: dict[int, ResultsRow] = {}
    for compared in (True, False):
        folder = tmp_path_factory.mktemp("writes")
        cases = {n: case_of_write(n, write) for n, (write, two, _, _) in enumerate(WRITES) if two == compared}
        events = [event for case, _ in cases.values() for event in case]
        tape = make_tape(folder / "t.tape", events, known_columns=["errno"])
        runs = [
            make_run(folder / f"{side}.run", tape, [row for _, sides in cases.values() for row in sides[side]])
            for side in range(2)
        ]
        report = build(tape, runs[:1], runs[1:]) if compared else build(tape, runs[1:])
        rows = [row for row in report.answers["results"] if row["kind"] == "rows"]
        assert len(rows) == len(cases)
        found |= {int(row["digest"] or "", 16): row for row in rows}
    return found


@pytest.mark.parametrize("number", range(len(WRITES)), ids=[f"{write}-{two}" for write, two, _, _ in WRITES])
def test_earlier_write_on_one_side_explains_different_rows(number: int, after_writes: dict[int, ResultsRow]) -> None:
    """A write was skipped, failed or changed different rows on one side. This write precedes all reads with changed
    results.
    """
    row, (_, _, after, reason) = after_writes[number], WRITES[number]
    assert (row["events"], row["after_write"]) == (2, after)
    assert row["reason"] == (reason and f"write_{reason}")
    assert row["known"] is None


def test_failed_set_explains_only_later_reads_of_its_session(tmp_path: Path) -> None:
    setting = {"statement": "SET time_zone = 'Europe/Berlin'", "class": "session", "errno": 0}
    reads = [
        {"statement": "SELECT FROM_UNIXTIME(1)", "errno": 0, "session": session, "digest": f"{session:016x}"}
        for session in (1, 1, 2, 2)
    ]
    tape = make_tape(tmp_path / "t.tape", [setting, *reads], known_columns=["errno"])
    runs = [
        make_run(
            tmp_path / f"{sum_}.run",
            tape,
            [
                {"errno": errno},
                *({"session": read["session"], "rows_sent": 1, "checksum": SUM[sum_]} for read in reads),
            ],
        )
        for errno, sum_ in ((0, "a"), (1298, "data"))
    ]
    rows = build(tape, runs[:1], runs[1:]).answers["results"]
    found = {int(row["digest"] or "", 16): row["reason"] == "set_failed" for row in rows}
    assert found == {1: True, 2: False}


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Build a report of three rounds of one digest with equal times on both sides."""
    folder = tmp_path_factory.mktemp("steady")
    event = {"statement": "SELECT 1", "errno": 0, "digest": f"{7:016x}"}
    tape = make_tape(folder / "t.tape", [event] * 200)
    rows: list[dict[str, Any]] = [{"start_ns": n * 10**7, "done_ns": n * 10**7 + 10**6 + n % 7} for n in range(200)]
    runs = [make_run(folder / f"{n}.run", tape, rows) for n in range(6)]
    report = build(tape, runs[:3], runs[3:])
    (entry,) = report.digests
    entry["verdict"] = "same"
    for side in (entry["a"], entry["b"]):
        assert side is not None
        side["n"] = 200
    return report


@pytest.mark.parametrize(("events", "answer"), [(1, "yes"), (2, "yes"), (3, "inconclusive"), (200, "inconclusive")])
def test_difference_explained_by_order_does_not_cause_a_negative_answer(
    steady: Report, events: int, answer: str
) -> None:
    """The answer can be yes if the order of statements explains differences in at most 1 % of a digest's events. A
    larger share prevents the answer yes. An unexplained difference causes the answer no.
    """
    (digest,) = (entry["digest"] for entry in steady.digests)
    row = {"digest": digest, "kind": "rows", "known": None, "reason": "perhaps_race", "events": events}
    report = replace(steady, answers=answers_of(steady.answers, results=[row]))
    found = headline(report)
    assert found is not None
    assert found.answer == answer
    count = f"{events} event{'s' if events > 1 else ''}"
    said = f"1 digest returns different results ({count}): possibly a race with writes of other sessions"
    text = " ".join([found.sentence, *found.notes])
    assert said in text
    assert "replay both sides with --order commit to find the cause" in text
    assert against_b(report) == set()
    report.answers["results"] = rows_of("results", row, {**row, "kind": "data", "reason": None})
    found = headline(report)
    assert found is not None
    assert found.answer == "no"
    assert "1 of 1 digest returns different results" in found.sentence
    assert unproven_sentences(report) == ([], False)
