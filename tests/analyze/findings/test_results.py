# SPDX-License-Identifier: Apache-2.0
"""Results that differ: their kinds have words, some have a reason."""

import re
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build
from querytape.analyze.findings.headline import headline
from querytape.analyze.findings.results import KINDS, RACE, against_b, unexplained, unproven_sentences

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def test_every_kind_has_words(checkout: Path) -> None:
    """The kinds that prelude.sql names, and no others."""
    text = (checkout / "analyze" / "sql" / "prelude.sql").read_text()
    (kinds,) = re.findall(r"CREATE TYPE result_kind AS ENUM \(([^)]*)\)", text)
    assert set(re.findall(r"'(\w+)'", kinds)) == set(KINDS)
    assert set(re.findall(r"THEN '(\w+)'", text)) >= set(KINDS)


def test_only_what_has_no_reason(small_report: Report) -> None:
    """The row that the small run changed is unexplained, one with a reason is not."""
    (row,) = unexplained(small_report)
    assert row["kind"] == "rows"
    known = Report(small_report.tape, [], [], answers={"results": [{**row, "known": "random"}]})
    assert list(unexplained(known)) == []


def test_a_command_without_a_statement_has_no_result(tmp_path: Path) -> None:
    """What a tape or a run counted for a ping is no difference, against the tape or between two runs."""
    ping = {"command": "ping", "rows_sent": 7, "errno": 0}
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "rows_sent": 1, "errno": 0}, ping])
    runs = [make_run(tmp_path / f"{n}.run", tape, [{"rows_sent": 1}, {"rows_sent": n}]) for n in range(2)]
    assert build(tape, runs[:1]).answers["results"] == []
    assert build(tape, runs[:1], runs[1:]).answers["results"] == []


SUM = {"a": "text:0000000000000001:0000000000000002", "order": "text:0000000000000003:0000000000000002"}
SUM["data"] = "text:0000000000000003:0000000000000004"


def differing(folder: Path, text: str, kind: str, versions: tuple[str, str]) -> dict[str, Any]:
    """Return the row of results.sql of a statement that differs so between servers of two versions."""
    tape = make_tape(folder / "t.tape", [{"statement": text, "errno": 0}] * 3)
    runs = [
        make_run(
            folder / f"{letter}.run",
            tape,
            [{"rows_sent": 5, "checksum": SUM["a" if letter == "a" else kind]}] * 3,
            target={"name": letter, "version": version},
        )
        for letter, version in zip("ab", versions, strict=True)
    ]
    (row,) = build(tape, runs[:1], runs[1:]).answers["results"]
    return row


UPGRADE, EQUAL, FROM_MARIADB = ("5.7.44", "8.0.42"), ("8.0.42", "8.0.43"), ("10.11.6-MariaDB", "8.4.3")


@pytest.mark.parametrize(
    ("text", "kind", "versions", "known", "reason"),
    [
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", UPGRADE, None, "GROUP BY no longer sorts"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", FROM_MARIADB, None, "GROUP BY no longer sorts"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", EQUAL, None, "rows without ORDER BY"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "order", ("5.7.44", "10.11.6-MariaDB"), None, "rows without ORDER BY"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "data", UPGRADE, None, None),
        ("SELECT a, COUNT(*) FROM t GROUP BY a LIMIT 3", "data", UPGRADE, None, "GROUP BY no longer sorts"),
        (
            "SELECT a, COUNT(*) FROM t GROUP BY a LIMIT 3",
            "data",
            EQUAL,
            "LIMIT without ORDER BY",
            "LIMIT without ORDER BY",
        ),
        ("SELECT a FROM t GROUP BY a ORDER BY a", "order", UPGRADE, None, "ties in ORDER BY, or another collation"),
        ("SELECT a FROM t ORDER BY b LIMIT 3", "data", EQUAL, None, "perhaps ties in ORDER BY under LIMIT"),
        ("SELECT a FROM t ORDER BY b", "data", EQUAL, None, None),
        ("SELECT a FROM t LIMIT 3", "data", UPGRADE, "LIMIT without ORDER BY", "LIMIT without ORDER BY"),
        ("SELECT a FROM t", "order", EQUAL, None, "rows without ORDER BY"),
        ("SELECT a FROM t", "data", EQUAL, None, None),
        ("SELECT GROUP_CONCAT(a) FROM t", "data", EQUAL, None, "GROUP_CONCAT without ORDER BY"),
        ("SELECT GROUP_CONCAT(a ORDER BY a) FROM t", "data", EQUAL, None, None),
    ],
)
def test_what_explains_a_difference(
    tmp_path: Path, text: str, kind: str, versions: tuple[str, str], known: str | None, reason: str | None
) -> None:
    """A lost implicit sort counts, with its reason, where A sorted and B does not; ties and missing orders are named."""
    row = differing(tmp_path, text, kind, versions)
    assert (row["kind"], row["known"], row["reason"], row["events"]) == (kind, known, reason, 3)


@pytest.mark.parametrize(
    ("write", "compared", "after", "reason"),
    [
        ({"errno": 1062}, True, 2, "failed"),
        ({"errno": 1062}, False, 2, "failed"),
        ({"rows_affected": 7}, True, 2, "changed other rows"),
        ({"status": "not_sent", "reason": "connection_lost"}, True, 2, "was not sent"),
        ({"status": "filtered", "reason": "write"}, True, 2, "was not sent"),
        ({"status": "not_sent", "reason": "connection_lost"}, False, 2, "was not sent"),
        ({"errno": 1062, "place": 2}, True, 1, None),
        ({"status": "not_sent", "place": 2}, True, 1, None),
        ({"errno": 1062, "table": "shop.Other"}, True, 0, None),
        ({"status": "not_sent", "table": "shop.Other"}, True, 0, None),
        ({"errno": 1062, "both": True}, True, 0, None),
        ({"status": "not_sent", "both": True}, True, 0, None),
    ],
)
def test_an_earlier_write_of_one_side_explains_other_rows(
    tmp_path: Path, write: dict[str, Any], compared: bool, after: int, reason: str | None
) -> None:
    """Where a write to one of its tables was not sent, failed or changed other rows on one side, before all of its events."""
    place = write.get("place", 0)
    insert = {"statement": f"INSERT INTO {write.get('table', '`shop`.T')} VALUES (1)", "class": "write", "errno": 0}
    reads = [{"statement": "SELECT a FROM t JOIN u", "errno": 0, "rows_sent": 1}] * 2
    events: list[dict[str, Any]] = [*reads]
    events.insert(place if place < 2 else 1, {**insert, "rows_affected": 1})
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"])
    sides: list[list[dict[str, Any]]] = []
    for side in range(2):
        rows = []
        for event in events:
            if "INSERT" not in event["statement"]:
                rows.append({"rows_sent": 1 + side})
            elif side or write.get("both"):
                rows.append({key: value for key, value in write.items() if key not in ("place", "table", "both")})
            else:
                rows.append({"rows_affected": 1})
        sides.append(rows)
    runs = [make_run(tmp_path / f"{n}.run", tape, rows) for n, rows in enumerate(sides)]
    report = build(tape, runs[:1], runs[1:]) if compared else build(tape, runs[1:])
    row = next(row for row in report.answers["results"] if row["kind"] == "rows")
    assert (row["events"], row["after_write"]) == (2, after)
    assert row["reason"] == (reason and f"an earlier write to its tables {reason} on one side")
    assert row["known"] is None


@pytest.mark.parametrize("session", [1, 2])
def test_a_set_that_failed_explains_what_its_session_reads(session: int, tmp_path: Path) -> None:
    """Only what follows in the same session."""
    texts = ["SET time_zone = 'Europe/Berlin'", "SELECT FROM_UNIXTIME(1)", "SELECT FROM_UNIXTIME(1)"]
    events = [
        {"statement": text, "class": "session" if "SET" in text else "read", "errno": 0, "session": number}
        for text, number in zip(texts, (session, 1, 1), strict=True)
    ]
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"])
    sides: list[list[dict[str, Any]]] = [
        [{"session": session, "errno": errno}, *({"session": 1, "rows_sent": 1, "checksum": SUM[sum_]} for _ in "12")]
        for errno, sum_ in ((0, "a"), (1298, "data"))
    ]
    for rows in sides:
        for place, row in enumerate(rows):
            row["seq"] = place + 1 if session == 1 else max(1, place)
    runs = [make_run(tmp_path / f"{n}.run", tape, rows) for n, rows in enumerate(sides)]
    (row,) = build(tape, runs[:1], runs[1:]).answers["results"]
    assert (row["reason"] == "an earlier SET of its session failed on one side") == (session == 1)


@pytest.mark.parametrize(("events", "answer"), [(1, "yes"), (2, "yes"), (3, "cannot tell"), (200, "cannot tell")])
def test_what_the_order_may_explain_is_no_no(tmp_path: Path, events: int, answer: str) -> None:
    """Up to 1 % of a digest's events it stands in a yes, above there is no yes; what nothing explains is a no."""
    tape = make_tape(
        tmp_path / "t.tape", [{"statement": "SELECT 1", "errno": 0, "digest": f"{7:016x}"} for _ in range(200)]
    )
    rows: list[dict[str, Any]] = [{"start_ns": n * 10**7, "done_ns": n * 10**7 + 10**6 + n % 7} for n in range(200)]
    runs = [make_run(tmp_path / f"{n}.run", tape, rows) for n in range(6)]
    report = build(tape, runs[:3], runs[3:])
    (digest,) = (entry["digest"] for entry in report.digests)
    for entry in report.digests:
        entry["verdict"] = "same"
    for entry in (entry[side] for entry in report.digests for side in ("a", "b")):
        entry["n"] = 200
    row = {"digest": digest, "kind": "rows", "known": None, "reason": RACE, "events": events}
    report.answers["results"] = [row]
    found = headline(report)
    assert found is not None
    assert found.answer == answer
    said = (
        f"1 digest returns something else ({events} event{'s' if events > 1 else ''}), perhaps writes of other sessions"
    )
    assert said in found.sentence
    assert "--order commit on both sides decides it" in found.sentence
    assert against_b(report) == set()
    report.answers["results"] = [row, {**row, "kind": "data", "reason": None}]
    found = headline(report)
    assert found is not None
    assert found.answer == "no"
    assert "1 of 1 digest returns different results" in found.sentence
    assert unproven_sentences(report) == ([], False)
