# SPDX-License-Identifier: Apache-2.0
"""The data model of a report: sides, rounds and counts."""

from pathlib import Path

from querytape.analyze import Report
from querytape.analyze.model import Severity
from querytape.schemas import Folder

from tests.helpers.shapes import entry_of


def folder(name: str) -> Folder:
    """Return an opened folder that no test reads."""
    return Folder("run", Path(name), {})


def test_report_has_one_or_two_sides_and_their_common_rounds() -> None:
    one = Report(folder("t"), [folder("a1"), folder("a2")], [])
    assert (one.compares, list(one.sides), one.rounds) == (False, ["a"], 2)
    two = Report(folder("t"), [folder("a1"), folder("a2")], [folder("b1")])
    assert (two.compares, list(two.sides), two.rounds) == (True, ["a", "b"], 1)
    assert [run.path.name for run in two.runs] == ["a1", "b1"]


def test_verdicts_are_counted_by_their_word() -> None:
    report = Report(folder("t"), [], [], digests=[entry_of({"verdict": word}) for word in ("slower", "same", "slower")])
    assert (report.count("slower"), report.count("faster")) == (2, 0)


def test_severities_are_words_with_the_worst_first() -> None:
    assert [f"{severity}" for severity in Severity] == ["problem", "warning", "information"]
