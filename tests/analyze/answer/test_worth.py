# SPDX-License-Identifier: Apache-2.0
"""Whether DDL that was tried is worth it."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.analyze import Report
from querytape.analyze.answer.parts import CHEAPER, DEARER_READS, DEARER_WRITES, PARTS_OF_DDL, parts_of, question
from querytape.analyze.answer.to_do import to_do
from querytape.analyze.answer.worth import answer_of
from querytape.analyze.findings.headline import NO, UNKNOWN, YES
from querytape.cli.commands.report import report_command
from querytape.experiments.compare_plan import PLAN_FILE, ComparePlan

from .planted import DIGESTS, planted

pytestmark = pytest.mark.slow

DDL = "ALTER TABLE t ADD INDEX k (x)"
MS = 1_000_000


def tried(folder: Path, verdicts: dict[str, str], lost_ms: dict[str, int], against: bool = False) -> Report:
    """Return a report on DDL: each digest's verdict and what it lost; the rest is the same."""
    report = planted(folder)
    for entry in report.digests:
        name = next(name for name, digest in DIGESTS.items() if digest == entry["digest"])
        if not against:
            entry.update(verdict=verdicts.get(name, "same"), new_errors=0, failed_on_both=0)
        entry["class"] = "write" if name in ("slower", "locked") else "read"
        entry["pair"] = {"lost_ns": lost_ms.get(name, 0) * MS}
    if not against:
        (failed,) = report.answers["failed_everywhere"]
        report.answers |= {"errors": [], "results": [], "failed_everywhere": [failed | {"succeeded": 0, "unknown": 0}]}
    return replace(report, settings=replace(report.settings, ddl=(DDL,)))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("verdicts", "lost_ms", "answer", "said"),
    [
        (
            {"slow": "faster", "slower": "slower"},
            {"slow": -900, "slower": 200},
            YES,
            "Yes, for this traffic: 1 digest got cheaper (900ms saved), 1 write got dearer (200ms lost), no read got dearer.",
        ),
        (
            {"slow": "faster", "slower": "slower"},
            {"slow": -100, "slower": 200},
            NO,
            "No, not for this traffic: 1 digest got cheaper (100ms saved), 1 write got dearer (200ms lost), no read got",
        ),
        ({}, {}, NO, "No, not for this traffic: nothing got cheaper, no write got dearer, no read got dearer."),
        (
            {"fine": "slower"},
            {"fine": 5},
            NO,
            "nothing got cheaper, no write got dearer, 1 read got dearer (5.00ms lost)",
        ),
        (
            dict.fromkeys(DIGESTS, "cannot tell"),
            {},
            UNKNOWN,
            "of 9 digests it can't be told, most of the time. Run more",
        ),
    ],
)
def test_what_it_saves_against_what_it_costs(
    verdicts: dict[str, str], lost_ms: dict[str, int], answer: str, said: str, tmp_path: Path
) -> None:
    """Yes where it saves more than it costs; where nothing is certain, more rounds are asked for."""
    report = tried(tmp_path, verdicts, lost_ms)
    found = answer_of(report)
    assert found is not None
    assert (found.answer, said in found.sentence) == (answer, True), found.sentence
    assert question(report) == f"Is this DDL worth it? {DDL} (A: before it, B: after it)"
    assert tuple(part.name for part in parts_of(report)) == PARTS_OF_DDL
    counts = {part.name: part.digests for part in parts_of(report)}
    slower = {name for name, word in verdicts.items() if word == "slower"}
    assert counts[DEARER_WRITES] == len(slower & {"slower"})
    assert counts[DEARER_READS] == len(slower - {"slower"})
    assert counts[CHEAPER] == list(verdicts.values()).count("faster")
    assert {task.remedy for task in to_do(report)} <= {"the price of the DDL: weigh it against what got cheaper"}


def test_what_breaks_is_not_worth_it(tmp_path: Path) -> None:
    """However much is saved."""
    found = answer_of(tried(tmp_path, {}, {"slow": -(10**6)}, against=True))
    assert found is not None
    assert found.answer == NO
    assert found.sentence.startswith("No: with it 209 events of 3 digests fail and 1 digest returns something else;")


@pytest.mark.long
def test_the_folder_knows_what_was_tried(tmp_path: Path) -> None:
    """`querytape report` of a folder of `try` asks the same question."""
    planted(tmp_path)
    targets = {"a": "sandbox", "b": "sandbox"}
    ComparePlan(tmp_path / "t.tape", targets, rounds=1, kind="try", ddl=(DDL,)).write(tmp_path / PLAN_FILE)
    for letter in "ab":
        (tmp_path / f"{letter}.run").rename(tmp_path / f"{letter}1.run")
    done = CliRunner().invoke(report_command, [str(tmp_path)], standalone_mode=False, catch_exceptions=False)
    assert "Is this DDL worth it? ALTER TABLE t ADD INDEX k (x)" in " ".join(done.output.split())
    assert "writes that got dearer" in done.output
