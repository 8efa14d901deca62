# SPDX-License-Identifier: Apache-2.0
"""Limits of a report: runs that ended early, accounting, clocks, lateness, other programs and different sides."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from querytape.analyze import Report, build
from querytape.analyze.database import Row
from querytape.analyze.findings.trust import (
    baseline,
    clock_step_s,
    conditions,
    interference,
    named_runs,
    other_data,
    unknown_plans,
    where_measured,
    why_no_claim,
)
from querytape.analyze.verdicts.interference import NONE, UNKNOWN, Disturbance
from querytape.cli.run_lines import exit_code
from querytape.common.exit_codes import ExitCode
from querytape.schemas import PROPERTIES
from querytape.schemas.json_shapes import RunInfo

from tests.analyze.findings.planted import DIGESTS
from tests.helpers.reports import tape_of, terminal_text
from tests.helpers.runs import make_run
from tests.helpers.shapes import answers_of, entry_of, plan_of
from tests.helpers.tapes import MS, SECOND

LATE = [
    {"due_ns": 0, "free_ns": 0, "queued_ns": 0, "sent_ns": 20 * MS, "done_ns": 30 * MS},
    {"due_ns": 5 * MS, "free_ns": 30 * MS, "queued_ns": 0, "sent_ns": 30 * MS, "done_ns": 31 * MS},
]
FLAGS, CALM = np.ones(4, np.bool_), np.zeros(4, np.bool_)
TAKEN = {"a": 0.1, "b": 3.6}
CASES: list[tuple[dict[str, Any], str]] = [
    ({"plan": {"ids_unknown": 60}}, "the tape lacks the ids of 60 INSERTs, so the target generated them"),
    ({"plan": {"ids_unknown": 1}}, "the tape lacks the ids of 1 INSERT, so the target generated them"),
    ({"accounting": {"overrides_failed": 2}}, "the target rejected a timestamp or id of the tape 2 times"),
    ({"accounting": {"order_broken": 1, "order_waits": 9}}, "--order-bound ended 1 of 9 waits for the commit order"),
    ({"prepared": {"rolled_back": ["a", "b"], "left": []}}, "2 unfinished XA transactions were rolled back"),
    ({"prepared": {"rolled_back": [], "left": ["'a'"]}}, "1 unfinished XA transaction was left on the target"),
]


@pytest.mark.slow
def test_partial_killed_and_unbalanced_runs_come_first(tmp_path: Path) -> None:
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
    """Return a report of two runs of a tape of two events. The keyword arguments are keys of run.json."""
    tape = tape_of(folder / "t.tape", 2)
    runs = [make_run(folder / f"{n}.run", tape, outcomes or [{}, {}], **keys) for n, keys in enumerate((a, b))]
    return build(tape, runs[:1], runs[1:])


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({}, {"accounting": {"balanced": False}}, "the accounting of run B does not balance"),
        ({"measuring_point": "server"}, {}, "the runs were measured at different places"),
        ({}, {}, None),
    ],
)
def test_unsound_runs_support_no_claim(
    tmp_path: Path, a: dict[str, Any], b: dict[str, Any], expected: str | None
) -> None:
    """`expected` is the reason why no claim is possible, or None if the runs support a claim."""
    assert why_no_claim(compared(tmp_path, a, b)) == expected


@pytest.mark.slow
def test_different_runs_cause_warnings(tmp_path: Path) -> None:
    """Different load parameters, warnings of the replayer and a clock step each cause a warning."""
    pairs = [[0, 0], [SECOND, 4 * SECOND]]
    slow = {"parameters": {"speed": "2"}, "generator": {"warnings": ["no more memory"]}, "clock_pairs": pairs}
    texts = [finding.text for finding in compared(tmp_path, {}, slow).trust if finding.severity == "warning"]
    assert texts == [
        "The wall clock stepped by +3.0 s during run B. Measured times are not affected.",
        "Run B: no more memory.",
        "The runs differ in --speed (A: 1, B: 2), so their loads differ.",
    ]


@pytest.mark.slow
def test_rounds_without_a_counterpart_are_reported(tmp_path: Path) -> None:
    """A single run is for information only. A comparison of three rounds against one round reports the excluded rounds."""
    tape = tape_of(tmp_path / "t.tape", 2)
    runs = [make_run(tmp_path / f"{n}.run", tape, [{}, {}]) for n in range(4)]
    (finding,) = build(tape, runs[:1]).trust
    assert finding.text.startswith("The report has only one run. Tape durations were measured in the server")
    texts = [finding.text for finding in build(tape, runs[:3], runs[3:]).trust]
    assert "Excluded from the report: 2 rounds without a partner on the other side." in texts


@pytest.mark.slow
def test_largest_clock_step_counts_and_small_drift_does_not() -> None:
    assert clock_step_s([]) is None
    assert clock_step_s([[0, 0], [SECOND, SECOND + 400 * MS]]) is None
    assert clock_step_s([[0, 0], [SECOND, 2 * SECOND], [2 * SECOND, -SECOND]]) == pytest.approx(-4.0)


@pytest.mark.slow
def test_sound_runs_support_a_claim_and_are_named_by_side(report: Report) -> None:
    assert why_no_claim(report) is None
    assert [name for name, _ in named_runs(report)] == ["A", "B"]


@pytest.mark.slow
def test_spread_and_smallest_detectable_change(small_report: Report) -> None:
    """The spread is the largest round of A divided by the smallest. The detectable change is the upper median over all
    digests.
    """
    rounds: list[Row] = [
        {"run": "a", "relative_latency": 1.0},
        {"run": "a", "relative_latency": 1.05},
        {"run": "b", "relative_latency": 9.0},
        {"run": "a", "relative_latency": None},
    ]
    shifts: list[dict[str, Any] | None] = [*({"detectable": value} for value in (1.04, 1.08, 1.5, None)), None]
    digests = [entry_of({"shift": shift}) for shift in shifts]
    report = Report(small_report.tape, [], [], answers=answers_of(rounds=rounds), digests=digests)
    assert (
        baseline(report)
        == "The rounds of A differ by up to 5.0%. For half of the statements, the report can detect a change of 8%."
    )
    assert (
        baseline(Report(small_report.tape, [], [], answers=answers_of(rounds=rounds)))
        == "The rounds of A differ by up to 5.0%."
    )


def rounds(folder: Path, outcomes: list[dict[str, Any]], *warnings: str) -> Report:
    """Return a report of three rounds. Each run has the given warnings, and the number in the warnings differs between
    the runs.
    """
    tape = tape_of(folder / "t.tape", 2)
    said = [{"generator": {"warnings": [text.format(number) for text in warnings]}} for number in range(6)]
    runs = [make_run(folder / f"{number}.run", tape, outcomes, **keys) for number, keys in enumerate(said)]
    return build(tape, runs[:3], runs[3:])


@pytest.mark.slow
def test_six_runs_with_equal_warnings_share_one_finding(tmp_path: Path) -> None:
    """The lateness of six runs is one finding that shows the values of both sides. Sessions that waited are also one
    finding.
    """
    asleep = "one statement in a hundred was sent at least {}.1 ms late, and threads that only sleep woke as late"
    texts = [finding.text for finding in rounds(tmp_path, LATE, asleep).trust]
    (late,) = [text for text in texts if "late" in text]
    assert late.startswith("The replayer sent 1 % of the statements at least 20.0ms (A) and 20.0ms (B) late.")
    assert "other programs used this machine" in late
    (waited,) = [text for text in texts if "waited" in text]
    assert waited.startswith("50 % (A) and 50 % (B) of the statements waited for the previous reply in their session")


@pytest.mark.slow
def test_lateness_is_reported_once_for_runs_of_an_earlier_release(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old = "the replayer itself was up to {}.0 ms late (p99); calibration had 3.46 ms. Put less load on this machine"
    texts = [finding.text for finding in rounds(tmp_path / "old", [{}, {}], old).trust]
    assert len([text for text in texts if "late" in text]) == 1
    assert "calibration had" not in " ".join(texts)
    assert not [f for f in rounds(tmp_path, [{}, {}]).trust if "late" in f.text]


@pytest.mark.slow
def test_limit_of_several_runs_is_shown_once_with_their_names(tmp_path: Path) -> None:
    texts = [finding.text for finding in rounds(tmp_path, [{}, {}], "the replayer used 9{}% of 2 cores").trust]
    (said,) = [text for text in texts if "cores" in text]
    assert said == "Runs A1, A2, A3, B1, B2, B3: the replayer used 90% of 2 cores (numbers of the first run)."


def finding_texts(report: Report, disturbance: Disturbance) -> str:
    """Return the texts of the findings for a disturbance."""
    return " ".join(finding.text for finding in interference(replace(report, disturbance=disturbance)))


def test_finding_on_other_programs_names_excluded_blocks_and_next_command(report: Report) -> None:
    text = finding_texts(report, Disturbance(FLAGS, CALM, FLAGS, True, TAKEN, 4, 9))
    assert "other programs used 3.6 of 4 cores during B (A: 0.1)" in text
    assert "Of 9 time blocks, 4 cannot prove slower statements, and 0 cannot prove faster statements." in text
    assert "querytape compare" in text
    assert "--rounds 5" in text
    assert finding_texts(report, NONE) == ""
    assert "--host-metrics" in finding_texts(report, UNKNOWN)
    assert "left no CPU core idle" in finding_texts(report, Disturbance(CALM, CALM, CALM, True, TAKEN, 4, 9, True))


def test_command_of_a_finding_names_private_servers_that_have_ended(report: Report) -> None:
    targets = {"a": "sandbox", "b": "sandbox:mysql-8.0?data=new data"}
    private = replace(report, settings=replace(report.settings, sandboxes=targets))
    text = finding_texts(private, Disturbance(FLAGS, CALM, FLAGS, True, TAKEN, 4, 9))
    assert "--target a=sandbox --target b='sandbox:mysql-8.0?data=new data' --rounds" in text


def test_run_conditions_apply_to_all_verdicts(report: Report) -> None:
    found = conditions(replace(report, disturbance=UNKNOWN))
    assert (found.no_claim, found.disturbed, found.rounds) == (None, None, 1)
    assert found.unseen is not None
    assert conditions(replace(report, disturbance=NONE)).unseen is None


@pytest.mark.parametrize(("info", "said"), CASES)
def test_each_reason_for_exit_code_4_has_its_text(info: Any, said: str) -> None:
    info = {"plan": {}, "accounting": {}, **info}
    assert other_data("B", info) == f"The data of run B may differ from the original data: {said}."
    summary: Any = SimpleNamespace(info=info, complete=True)
    assert exit_code(summary) == ExitCode.INCOMPLETE


def test_run_with_unchanged_data_has_no_data_warning() -> None:
    runs: list[RunInfo] = [
        {},
        {"plan": None, "accounting": None},
        {"plan": {"ids_unknown": 0}, "accounting": {"order_broken": 0}},
    ]
    for info in runs:
        assert other_data("A", info) is None


@pytest.mark.slow
def test_each_run_with_different_data_has_one_warning(tmp_path: Path) -> None:
    tape = tape_of(tmp_path / "t.tape", 2)
    keys: dict[str, Any] = {"plan": {"ids_unknown": 60}, "prepared": {"rolled_back": ["a"], "left": []}}
    runs = [make_run(tmp_path / f"{n}.run", tape, [{}, {}], **more) for n, more in enumerate(({}, keys))]
    said = " ".join(terminal_text(build(tape, runs[:1], runs[1:])).split())
    assert "warning: The data of run B may differ from the original data: the tape lacks the ids of 60 INSERTs" in said
    assert "so the target generated them; 1 unfinished XA transaction was rolled back." in said
    assert "data of run A" not in said
    assert "The data of run A may differ" in " ".join(terminal_text(build(tape, runs[1:])).split())


@pytest.mark.parametrize(
    ("point", "words"),
    [("server", "in the server"), ("wire", "on the wire"), ("proxy", "at the proxy"), ("client", "in the client")],
)
def test_each_measuring_point_has_a_text(point: str, words: str) -> None:
    assert where_measured({"measuring_point": point}) == words


def test_unknown_or_missing_measuring_point_is_called_elsewhere() -> None:
    assert where_measured({"measuring_point": "moon"}) == where_measured({}) == "elsewhere"


def test_unknown_plans_of_slower_statements_are_counted(comparison: Report) -> None:
    """The finding names the command that collects the plans. COMMIT has no plan, and a report on tried DDL has no
    servers to ask.
    """
    slower = [DIGESTS["slow"], DIGESTS["slower"]]
    written = dict.fromkeys(slower, PROPERTIES["explainable"])
    report = replace(comparison, written=written, query_plans={})
    (found,) = unknown_plans(report)
    assert found.text.startswith(
        "Query plans are unknown for 2 of 2 statements that are or may be slower. Run querytape plans "
    )
    assert found.text.endswith(" -o again.plans, then report --plans again.plans.")
    plan = plan_of({"a": {"json": "{}"}, "b": {"json": "{}"}})
    (found,) = unknown_plans(replace(report, query_plans={slower[0]: plan}))
    assert "for 1 of 2 statements" in found.text
    assert "again.plans" in terminal_text(replace(report, trust=[found]))
    assert list(unknown_plans(replace(report, query_plans=dict.fromkeys(slower, plan)))) == []
    assert list(unknown_plans(replace(report, written={}))) == []
    assert (
        list(unknown_plans(replace(report, settings=replace(report.settings, ddl=("ALTER TABLE t ADD KEY (a)",)))))
        == []
    )
