# SPDX-License-Identifier: Apache-2.0
"""What limits a report: runs that ended early, accounting, clocks, lateness, sides that differ."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build
from querytape.analyze.findings.doubt import doubt
from querytape.analyze.findings.trust import clock_step_s

from tests.helpers.reports import tape_of, terminal_text
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, SECOND

pytestmark = pytest.mark.slow


def test_partial_killed_and_unbalanced_runs_are_named_first(tmp_path: Path) -> None:
    """What the report can't be trusted for comes first."""
    tape = tape_of(tmp_path / "t.tape", 2, warnings=[{"kind": "hole", "text": "a hole"}])
    a = make_run(tmp_path / "a.run", tape, [{}], finished=False, accounting=None, partial=None)
    b = make_run(tmp_path / "b.run", tape, [{}], partial="stopped by the user", accounting={"balanced": False})
    report = build(tape, [a], [b])
    sentences = " ".join(sentence for _, sentence in report.trust)
    for words in ("Run A was killed", "stopped by the user", "does not balance", "a hole"):
        assert words in sentences
    assert report.trust[0][0] == "problem"
    assert "Run A was killed" in " ".join(terminal_text(report).split())


def compared(
    folder: Path, a: dict[str, Any], b: dict[str, Any], outcomes: list[dict[str, Any]] | None = None
) -> Report:
    """Return a report of two runs of a tape of two events with these keys in run.json."""
    tape = tape_of(folder / "t.tape", 2)
    runs = [make_run(folder / f"{n}.run", tape, outcomes or [{}, {}], **keys) for n, keys in enumerate((a, b))]
    return build(tape, runs[:1], runs[1:])


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({}, {"accounting": {"balanced": False}}, "the accounting of run B does not balance"),
        ({"measuring_point": "server"}, {}, "the runs were not measured in the same place"),
        ({}, {}, None),
    ],
)
def test_doubt(tmp_path: Path, a: dict[str, Any], b: dict[str, Any], expected: str | None) -> None:
    """Why no claim can be made at all; None where one can."""
    assert doubt(compared(tmp_path, a, b)) == expected


def test_runs_that_differ_and_warnings(tmp_path: Path) -> None:
    """Parameters that change the load, warnings of the generator and a clock that stepped are warnings."""
    pairs = [[0, 0], [SECOND, 4 * SECOND]]
    slow = {"parameters": {"speed": "2"}, "generator": {"warnings": ["no more memory"]}, "clock_pairs": pairs}
    texts = [finding.text for finding in compared(tmp_path, {}, slow).trust if finding.severity == "warning"]
    assert texts == [
        "The wall clock stepped by +3.0 s during run B; measured times are not affected.",
        "Run B: no more memory.",
        "The runs differ in --speed (A: 1, B: 2): so do their loads.",
    ]


def test_one_run_and_rounds_without_a_partner(tmp_path: Path) -> None:
    """One run is information only; three rounds against one say what they leave out."""
    tape = tape_of(tmp_path / "t.tape", 2)
    runs = [make_run(tmp_path / f"{n}.run", tape, [{}, {}]) for n in range(4)]
    (finding,) = build(tape, runs[:1]).trust
    assert finding.text.startswith("There is one run. The tape's durations were taken in the server")
    texts = [finding.text for finding in build(tape, runs[:3], runs[3:]).trust]
    assert "2 rounds have no partner on the other side and are not in this report." in texts


def test_clock_steps() -> None:
    """Drift below half a second is none; the largest step counts, with its sign."""
    assert clock_step_s([]) is None
    assert clock_step_s([[0, 0], [SECOND, SECOND + 400 * MS]]) is None
    assert clock_step_s([[0, 0], [SECOND, 2 * SECOND], [2 * SECOND, -SECOND]]) == pytest.approx(-4.0)
