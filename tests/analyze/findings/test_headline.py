# SPDX-License-Identifier: Apache-2.0
"""The headline: the answer to "may we switch?", its three parts with their shares, and the answer for tried DDL."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.analyze import Report, build
from querytape.analyze.findings.headline import (
    BREAKS,
    CHEAPER,
    DEARER_READS,
    DEARER_WRITES,
    ELSE,
    NO,
    PARTS,
    PARTS_OF_DDL,
    SLOW,
    UNKNOWN,
    YES,
    Headline,
    Part,
    answer_of,
    events_of,
    headline,
    parts_of,
    question,
    share,
)
from querytape.analyze.findings.remedies import to_do
from querytape.analyze.model import Settings
from querytape.cli.commands.report import report_command
from querytape.experiments.compare_plan import PLAN_FILE, ComparePlan

from tests.helpers.reports import tape_of
from tests.helpers.runs import make_run
from tests.helpers.shapes import entry_of, rows_of

from .planted import DIGESTS, REPEATS, TEXTS, planted

DDL = "ALTER TABLE t ADD INDEX k (x)"
MS = 1_000_000


def entry(verdict: str, total_ns: int, why: str = "") -> Any:
    """Return a digest with only the fields that the headline reads."""
    return entry_of(
        {
            "digest": "0",
            "verdict": verdict,
            "why": why,
            "text": "select ?",
            "a": {"total_ns": total_ns},
            "new_errors": 3 if why else 0,
            "failed_on_both": 0,
        }
    )


@pytest.fixture
def empty(tmp_path: Path) -> Report:
    """Build a comparison without digests. Each test adds its own digests."""
    tape = tape_of(tmp_path / "t.tape", 2)
    runs = [make_run(tmp_path / f"{n}.run", tape, [{}, {}]) for n in range(2)]
    return build(tape, runs[:1], runs[1:])


@pytest.mark.slow
def test_negative_answer_names_slower_digest_and_largest_loss(report: Report) -> None:
    answer = headline(report)
    assert answer is not None
    assert answer.answer == "no"
    assert answer.sentence == "No: 1 of 8 digests is slower."
    assert answer.notes[0].startswith("Worst: select c5 from t5 where id = ? (takes ")
    assert answer.notes[0].endswith(" lost).")


@pytest.mark.slow
def test_errors_and_results_are_counted(empty: Report) -> None:
    """The headline uses the singular or the plural for its counts. Changed results with a known reason are not counted."""
    empty.digests = [entry("errors changed", 1, "3 new errors"), entry("same", 1)]
    row = {"digest": "1", "known": None, "kind": "rows", "events": 1}
    empty.answers["results"] = rows_of(
        "results", row, {**row, "digest": "2", "known": "chance"}, {**row, "digest": "3", "kind": "warnings"}
    )
    answer = headline(empty)
    assert answer is not None
    assert answer.sentence == "No: 1 of 2 digests has new errors (3 events), 1 returns different results."
    assert answer.notes == ("Worst: select ? (3 new errors).",)


def answered(report: Report) -> Headline:
    found = headline(report)
    assert found is not None
    return found


@pytest.mark.slow
def test_yes_and_inconclusive_depend_on_share_of_undecided_time(empty: Report) -> None:
    """The answer depends on the share of the execution time in inconclusive digests. Runs that support no claim take
    precedence over all other answers.
    """
    empty.digests = [entry("same", 60), entry("faster", 1), entry("unstable", 39)]
    assert answered(empty).sentence == (
        "Yes: none of 3 digests is slower by more than 10% and 50.0µs, and none has new errors."
    )
    assert answered(empty).notes == (
        "1 digest takes about the same time, 1 is faster, 1 is inconclusive (39 % of the execution time).",
    )
    empty.digests = [entry("same", 60), entry("faster", 1)]
    assert answered(empty).notes == ("1 digest takes about the same time, 1 is faster.",)
    empty.digests = [entry("same", 10), entry("unstable", 90)]
    assert answered(empty).sentence.endswith("variable executions take 90 % of the execution time.")
    empty.digests = []
    assert answered(empty).sentence == "Inconclusive: no statement was sent to either side."
    empty.b[0].info["accounting"] = {"balanced": False}
    assert answered(empty).sentence == "Inconclusive: the accounting of run B does not balance."


@pytest.mark.slow
def test_single_run_has_no_question_and_no_answer(empty: Report) -> None:
    assert headline(Report(empty.tape, empty.a, [], Settings())) is None


@pytest.mark.slow
def test_question_names_each_server_and_its_version(comparison: Report) -> None:
    asked = "May this traffic move from A (a.db:3306, 5.7.44-log) to B (b.db:3306, 8.0.42)?"
    assert question(comparison) == asked


@pytest.mark.slow
def test_three_parts_of_headline_show_their_shares(comparison: Report) -> None:
    """Shares refer to the number of sent events and to the execution time on the tape. Explained differences are
    counted separately.
    """
    parts = {part.name: part for part in parts_of(comparison)}
    assert tuple(parts) == PARTS
    broken, other, slow = (parts[name] for name in PARTS)
    assert (broken.digests, broken.events) == (4, 3 * REPEATS + 9)
    assert broken.events_share == pytest.approx((3 * REPEATS + 9) / (REPEATS * len(TEXTS)))
    assert broken.time_share == pytest.approx(broken.events_share), "every statement took as long on the tape"
    assert (other.digests, other.events) == (2, 2 * REPEATS)
    assert (slow.digests, slow.events) == (2, 2 * REPEATS)
    assert slow.lost_ns == pytest.approx(REPEATS * 577_000)
    assert set(events_of(comparison)[BREAKS]) == {
        DIGESTS[name] for name in ("grouped", "reserved", "locked", "missing")
    }
    assert set(events_of(comparison)[SLOW]) == {DIGESTS["slow"], DIGESTS["slower"]}
    assert set(events_of(comparison)[ELSE]) == {DIGESTS["sorted"], DIGESTS["limited"]}


@pytest.mark.slow
def test_tape_without_durations_uses_times_of_the_runs(comparison: Report) -> None:
    """If the tape has no durations, shares of time refer to the side that took longer. If both sides have no times, no
    share is shown.
    """
    report = deepcopy(comparison)
    for entry in report.digests:
        entry["tape_ns"] = None
    slow = parts_of(report)[2]
    assert slow.time_share is not None
    assert slow.time_share > 2 / len(TEXTS)
    for entry in report.digests:
        entry["a"] = entry["b"] = None
    assert parts_of(report)[2].time_share is None


@pytest.mark.slow
def test_failure_on_both_sides_is_not_broken_if_the_tape_lacks_errors(tmp_path: Path) -> None:
    """If the tape contains no error numbers, equal failures on both sides do not count as broken."""
    assert DIGESTS["missing"] not in events_of(planted(tmp_path, tape_errno=None))[BREAKS]


@pytest.mark.slow
def test_headline_texts_use_singular_and_plural() -> None:
    """A share above zero is never shown as 0 %."""
    part = Part(SLOW, 1, 1, 0.0004, None, lost_ns=5000)
    assert part.said() == "1 digest, 1 event, less than 0.1 % of the traffic, 5.00µs lost"
    known = replace(part, name=ELSE, digests=2, events=1234, time_share=0.5, explained=7, lost_ns=0)
    assert known.said() == (
        "2 digests, 1,234 events, less than 0.1 % of the traffic, 50.0 % of the execution time, 7 events with a known reason"
    )
    assert replace(part, inconclusive=2).said() == f"{part.said()}; 2 inconclusive digests"
    nothing = Part(SLOW, 0, 0, 0.0, 0.0)
    assert nothing.said() == "nothing"
    assert replace(nothing, inconclusive=1).said() == "no digest with a verdict, 1 inconclusive digest"
    assert [share(part) for part in (0.0, 0.0009, 0.001, 1.0)] == ["0 %", "less than 0.1 %", "0.1 %", "100.0 %"]


def report_on_ddl(folder: Path, verdicts: dict[str, str], lost_ms: dict[str, int], against: bool = False) -> Report:
    """Return a report on tried DDL. Each digest has the given verdict and lost time, and all other fields are the same."""
    report = planted(folder)
    for entry in report.digests:
        name = next(name for name, digest in DIGESTS.items() if digest == entry["digest"])
        if not against:
            entry["verdict"], entry["new_errors"], entry["failed_on_both"] = verdicts.get(name, "same"), 0, 0
        entry["class"] = "write" if name in ("slower", "locked") else "read"
        (entry["pair"],) = rows_of("pairs", {"lost_ns": lost_ms.get(name, 0) * MS})
    if not against:
        (failed,) = report.answers["failed_everywhere"]
        report.answers |= {"errors": [], "results": [], "failed_everywhere": [failed | {"succeeded": 0, "unknown": 0}]}
    return replace(report, settings=replace(report.settings, ddl=(DDL,)))


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("verdicts", "lost_ms", "answer", "said"),
    [
        (
            {"slow": "faster", "slower": "slower"},
            {"slow": -900, "slower": 200},
            YES,
            "Yes, for this traffic: 1 digest got cheaper (900ms saved), 1 write got more expensive (200ms lost), no read got more expensive.",
        ),
        (
            {"slow": "faster", "slower": "slower"},
            {"slow": -100, "slower": 200},
            NO,
            "No, not for this traffic: 1 digest got cheaper (100ms saved), 1 write got more expensive (200ms lost), no read got",
        ),
        (
            {},
            {},
            NO,
            "No, not for this traffic: no digest got cheaper, no write got more expensive, no read got more expensive.",
        ),
        (
            {"fine": "slower"},
            {"fine": 5},
            NO,
            "no digest got cheaper, no write got more expensive, 1 read got more expensive (5.00ms lost)",
        ),
        (
            dict.fromkeys(DIGESTS, "inconclusive"),
            {},
            UNKNOWN,
            "9 inconclusive digests. Run more",
        ),
    ],
)
def test_ddl_is_worth_it_if_it_saves_more_time_than_it_costs(
    verdicts: dict[str, str], lost_ms: dict[str, int], answer: str, said: str, tmp_path: Path
) -> None:
    """If no difference is certain, the answer for tried DDL asks for more rounds."""
    report = report_on_ddl(tmp_path, verdicts, lost_ms)
    found = answer_of(report)
    assert found is not None
    text = " ".join([found.sentence, *found.notes])
    assert (found.answer, said in text) == (answer, True), text
    assert question(report) == f"Is this DDL worth it? {DDL} (A: before the DDL, B: after the DDL)"
    assert tuple(part.name for part in parts_of(report)) == PARTS_OF_DDL
    counts = {part.name: part.digests for part in parts_of(report)}
    slower = {name for name, word in verdicts.items() if word == "slower"}
    assert counts[DEARER_WRITES] == len(slower & {"slower"})
    assert counts[DEARER_READS] == len(slower - {"slower"})
    assert counts[CHEAPER] == list(verdicts.values()).count("faster")
    assert {task.remedy for task in to_do(report)} <= {"compare the cost of the DDL with its savings"}


@pytest.mark.slow
def test_ddl_that_causes_errors_is_never_worth_it(tmp_path: Path) -> None:
    found = answer_of(report_on_ddl(tmp_path, {}, {"slow": -(10**6)}, against=True))
    assert found is not None
    assert found.answer == NO
    assert found.sentence == "No: 209 events of 3 digests fail and 1 digest returns different results."


@pytest.mark.slow
@pytest.mark.long
def test_report_of_try_ddl_folder_asks_about_the_ddl(tmp_path: Path) -> None:
    planted(tmp_path)
    targets = {"a": "sandbox", "b": "sandbox"}
    ComparePlan(tmp_path / "t.tape", targets, rounds=1, kind="try", ddl=(DDL,)).write(tmp_path / PLAN_FILE)
    for letter in "ab":
        (tmp_path / f"{letter}.run").rename(tmp_path / f"{letter}1.run")
    done = CliRunner().invoke(report_command, [str(tmp_path)], standalone_mode=False, catch_exceptions=False)
    assert "Is this DDL worth it? ALTER TABLE t ADD INDEX k (x)" in " ".join(done.output.split())
    assert "dearer writes" in done.output
