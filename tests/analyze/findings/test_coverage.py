# SPDX-License-Identifier: Apache-2.0
"""Coverage: the report states the share of the tape that was not replayed. If the share is above 1 %, the answer is
never yes.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, build
from querytape.analyze.findings.coverage import LOST_REASONS, coverage, missing_sentences, reason_words
from querytape.analyze.findings.headline import headline

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

EVENTS = 400
REFUSED = {"errno": 1792, "error": "Cannot execute statement in a READ ONLY transaction"}
UNSENT = {"status": "not_sent", "reason": "not_prepared"}
Compared = Callable[..., Report]
LEFT_OUT = [{"status": "skipped", "reason": "redacted"}] * 40
UNSENT_ROWS = [UNSENT] * 36


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Return a function that builds a report.

    Its arguments are the first outcomes of each run, and `errno`, the error on the tape. All other events succeed. The
    function caches its reports, so tests must not change them.
    """
    tapes: dict[int | None, Path] = {}
    reports: dict[str, Report] = {}

    def make(a: list[dict[str, Any]], b: list[dict[str, Any]] | None, errno: int | None = 0) -> Report:
        folder = tmp_path_factory.mktemp("compared")
        if errno not in tapes:
            event = {"statement": "SELECT 1", "digest": "0000000000000001", "errno": errno}
            tapes[errno] = make_tape(folder / "t.tape", [event] * EVENTS, known_columns=["errno"], source="packets")
        runs = [
            make_run(folder / f"{n}.run", tapes[errno], [*rows, *([{}] * (EVENTS - len(rows)))])
            for n, rows in enumerate((a, b))
            if rows is not None
        ]
        return build(tapes[errno], runs[:1], runs[1:])

    def once(a: list[dict[str, Any]], b: list[dict[str, Any]] | None, errno: int | None = 0) -> Report:
        key = repr((a, b, errno))
        if key not in reports:
            reports[key] = make(a, b, errno)
        return reports[key]

    return once


def left_out(compared: Compared, status: str, reason: str, source: str = "packets") -> Report:
    """Return a report of two runs that skipped 40 of 400 events for the given reason. `source` is the kind of captured
    log.

    All reasons share one cached report, because only its accounting depends on the reason.
    """
    report = compared(LEFT_OUT, LEFT_OUT)
    rows = [
        row | {"status": status, "reason": reason} if row["reason"] == LEFT_OUT[0]["reason"] else row
        for row in report.answers["accounting"]
    ]
    assert sum(row["events"] for row in rows if row["reason"] == reason) == 80
    tape = replace(report.tape, info=report.tape.info | {"source": source})
    return replace(report, tape=tape, answers=report.answers | {"accounting": rows})


def answer(report: Report) -> str:
    found = headline(report)
    assert found is not None
    return found.answer


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("failed", "expected"), [(0, "yes"), (4, "yes"), (5, "inconclusive"), (150, "inconclusive")])
def test_more_than_1_percent_failures_on_both_sides_prevent_yes(compared: Compared, failed: int, expected: str) -> None:
    report = compared([REFUSED] * failed, [REFUSED] * failed)
    assert answer(report) == expected
    assert any("failed on both sides" in finding.text for finding in report.trust) == (failed > 0)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("errno", "expected"), [(0, "inconclusive"), (None, "inconclusive"), (1792, "yes")])
def test_failure_on_the_tape_excuses_failure_in_the_replay(
    compared: Compared, errno: int | None, expected: str
) -> None:
    """An event that failed on the tape may fail in the replay. If the tape has no error numbers, the report states
    that.
    """
    report = compared([REFUSED] * 20, [REFUSED] * 20, errno)
    assert answer(report) == expected
    found = headline(report)
    assert found is not None
    assert ("both sides differ from production: 20 events of 1 digest failed" in found.sentence) == (errno == 0)
    assert ("the tape does not record whether they failed" in found.sentence) == (errno is None)


@pytest.mark.slow
def test_digest_whose_events_all_fail_prevents_yes(tmp_path: Path) -> None:
    """Only 7 of 700 events fail, but these 7 events are all events of one digest."""
    events = [{"statement": "SELECT 1", "digest": f"{n >= 693:016x}", "errno": 0} for n in range(700)]
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"])
    rows = [*[{}] * 693, *[REFUSED] * 7]
    runs = [make_run(tmp_path / f"{n}.run", tape, rows) for n in range(2)]
    report = build(tape, runs[:1], runs[1:])
    assert answer(report) == "inconclusive"
    assert [(entry["verdict"], entry["why"]) for entry in report.digests][:1] == [
        ("errors changed", "7 events failed on both sides, but not on the tape")
    ]
    finding = next(finding for finding in report.trust if "failed on both sides" in finding.text)
    assert finding.severity == "problem"


@pytest.mark.slow
def test_positive_answer_lists_few_failures_on_both_sides(compared: Compared) -> None:
    """Four failures in 400 events do not prevent the answer yes, but the report lists them."""
    found = headline(compared([REFUSED] * 4, [REFUSED] * 4))
    assert found is not None
    assert "4 events of 1 digest failed on both sides (mostly error 1792) but succeeded on the tape." in found.notes


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("side", "unsent", "expected"),
    [
        *[(side, *each) for each in ((4, "yes"), (5, "inconclusive")) for side in ("a", "b", "both")],
        ("both", 0, "yes"),
        ("both", 36, "inconclusive"),
    ],
)
def test_unsent_events_count_as_not_replayed(compared: Compared, side: str, unsent: int, expected: str) -> None:
    """The unsent events of both sides count. The trust section of the report shows their share of all events. The
    answer mentions a share above 1 %.
    """
    rows = [UNSENT] * unsent
    report = compared(rows if side != "b" else [], rows if side != "a" else [])
    assert answer(report) == expected
    texts = [finding.text for finding in report.trust if "did not send" in finding.text]
    assert len(texts) == (0 if not unsent else 2 if side == "both" else 1)
    if unsent == 36:
        assert texts[0].endswith("did not send 9.0 % of the events (36: PREPARE is missing or failed).")
        found = headline(report)
        assert found is not None
        assert "9.0 % of the events were not sent to " in found.sentence


@pytest.mark.slow
@pytest.mark.parametrize("reason", sorted(LOST_REASONS))
def test_incomplete_event_counts_as_not_replayed(compared: Compared, reason: str) -> None:
    assert answer(left_out(compared, "skipped", reason)) == "inconclusive"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("slowlog", "yes"),
        ("general", "yes"),
        ("general+slowlog", "yes"),
        ("audit", "inconclusive"),
        ("packets+slowlog", "inconclusive"),
    ],
)
def test_skipped_prepare_is_not_missing_if_log_has_executes(source: str, expected: str, compared: Compared) -> None:
    """A slow log and a general log contain the statement of each EXECUTE, so a skipped PREPARE loses nothing."""
    report = left_out(compared, "skipped", "sql_prepare", source)
    assert answer(report) == expected
    assert (missing_sentences(report) == []) == (expected == "yes")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("filtered", "write"),
        ("filtered", "locking_read"),
        ("skipped", "connect_by_replayer"),
        ("skipped", "nothing_to_prepare"),
        ("skipped", "nothing_to_close"),
        ("not_sent", "nothing_to_close"),
    ],
)
def test_intentionally_excluded_events_do_not_count(compared: Compared, status: str, reason: str) -> None:
    """Excluded events are writes in a read-only replay, connects that sessions perform themselves, and commands without
    effect.
    """
    report = left_out(compared, status, reason)
    assert list(coverage(report)) == []
    assert missing_sentences(report) == []
    assert answer(report) == "yes"


@pytest.mark.slow
def test_negative_answer_mentions_events_that_were_not_replayed(compared: Compared) -> None:
    """New errors always cause the answer no. The answer also states the share of unsent events."""
    report = compared(UNSENT_ROWS, [*UNSENT_ROWS, *[REFUSED] * 3])
    found = headline(report)
    assert found is not None
    assert found.answer == "no"
    assert "9.0 % of the events were not sent to B (36: PREPARE is missing or failed)." in found.notes


@pytest.mark.slow
def test_single_run_has_no_answer_but_lists_failures(compared: Compared) -> None:
    texts = [finding.text for finding in compared([REFUSED] * 20, None).trust]
    assert texts[0].startswith("20 events of 1 digest failed in the run (mostly error 1792) but succeeded")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Build a report of two runs that replayed the sample tape of quick mode."""
    folder = tmp_path_factory.mktemp("quick")
    rows = {"reads that lock": {"tape_ns": 1}, "writes": {"tape_ns": 9}}
    said = {"asked": {"tape_ns": 100}, "not_asked": rows, "share_not_asked": 0.0, "tape_ns": {f"{1:016x}": 77}}
    tape = make_tape(folder / "t.tape", [{"statement": "SELECT 1", "digest": f"{1:016x}"}] * EVENTS, quick=said)
    runs = [make_run(folder / f"{n}.run", tape, [{}] * EVENTS) for n in range(2)]
    return build(tape, runs[:1], runs[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("share", "expected"), [(0.0, "yes"), (0.009, "yes"), (0.3, "inconclusive")])
def test_statements_skipped_by_quick_mode_prevent_yes(quick: Report, share: float, expected: str) -> None:
    """The answer lists the reasons why quick mode skipped statements. Reasons with the most time come first."""
    info = quick.tape.info | {"quick": quick.tape.info["quick"] | {"share_not_asked": share}}
    report = replace(quick, tape=replace(quick.tape, info=info))
    assert answer(report) == expected
    assert report.digests[0]["tape_ns"] == 77, "of the whole tape, not of the samples"
    said = "--quick did not send 30.0 % of the tape's time (writes, reads that lock), so replay the whole tape"
    assert missing_sentences(report) == ([said] if share == 0.3 else [])


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("side", "other", "left", "expected"),
    [
        *[(*sides, *each) for each in ((4, "yes"), (5, "inconclusive")) for sides in ("AB", "BA")],
        ("A", "B", 200, "inconclusive"),
    ],
)
def test_different_selections_of_the_sides_prevent_yes(
    compared: Compared, left: int, expected: str, side: str, other: str
) -> None:
    """Events that only one side selected have no counterpart to compare."""
    rows = [{"status": "filtered", "reason": "write"}] * left
    report = compared(*(([], rows) if other == "B" else (rows, [])))
    assert answer(report) == expected
    said = f"of the events sent to {side} were excluded for {other} ({left}: writes without --allow-writes)"
    assert any(said in sentence for sentence in missing_sentences(report)) == (expected != "yes")


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("errno", [0, None])
def test_failures_only_on_side_a_prevent_yes(tmp_path: Path, errno: int | None) -> None:
    """A digest without any successful execution in A cannot be compared. A digest whose executions in A mostly
    succeeded can be compared.
    """
    event = {"statement": "SELECT 1", "errno": errno}
    events = [{**event, "digest": f"{n >= 300:016x}"} for n in range(EVENTS)]
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"])
    good = make_run(tmp_path / "b.run", tape, [{}] * EVENTS)
    for name, failing, expected in (("few", range(300, 320), "yes"), ("all", range(300, 400), "inconclusive")):
        bad = make_run(tmp_path / f"{name}.run", tape, [REFUSED if n in failing else {} for n in range(EVENTS)])
        report = build(tape, [bad], [good])
        assert answer(report) == expected, name
    (sentence,) = missing_sentences(report)
    assert sentence.startswith("25.0 % of the sent events failed only in A (mostly error 1792)")


def test_texts_of_dangerous_and_unknown_reasons() -> None:
    """A dangerous statement's text names the option that allows it. An unknown reason is shown unchanged."""
    assert reason_words("danger:kill").endswith("--allow-statement kill")
    assert reason_words(None) == ""
    assert reason_words("of a later release") == "of a later release"
