# SPDX-License-Identifier: Apache-2.0
"""The answer to "may we switch?" and its sentence."""

from pathlib import Path

import pytest
from querytape.analyze import Report, build
from querytape.analyze.findings.headline import Headline, headline
from querytape.analyze.model import Settings

from tests.helpers.reports import tape_of
from tests.helpers.runs import make_run

pytestmark = pytest.mark.slow


def entry(verdict: str, total_ns: int, why: str = "") -> dict[str, object]:
    """Return a digest as far as the headline reads it."""
    return {
        "digest": "0",
        "verdict": verdict,
        "why": why,
        "text": "select ?",
        "a": {"total_ns": total_ns},
        "b": None,
        "pair": None,
        "new_errors": 3 if why else 0,
        "failed_on_both": 0,
        "note": None,
    }


@pytest.fixture
def empty(tmp_path: Path) -> Report:
    """A comparison whose digests the test sets."""
    tape = tape_of(tmp_path / "t.tape", 2)
    runs = [make_run(tmp_path / f"{n}.run", tape, [{}, {}]) for n in range(2)]
    return build(tape, runs[:1], runs[1:])


def test_no_names_what_is_against_it(report: Report) -> None:
    """A slower digest, and the statement that lost most."""
    answer = headline(report)
    assert answer is not None
    assert answer.answer == "no"
    assert answer.sentence.startswith("No: 1 of 8 digests is slower. Worst: select c5 from t5 where id = ? (takes ")
    assert answer.sentence.endswith(" lost).")


def test_errors_and_results_are_counted(empty: Report) -> None:
    """Singular and plural; results that a reason is known for do not count."""
    empty.digests = [entry("errors changed", 1, "3 new errors"), entry("same", 1)]
    row = {"digest": "1", "known": None, "kind": "rows", "events": 1}
    empty.answers["results"] = [
        row,
        {**row, "digest": "2", "known": "random"},
        {**row, "digest": "3", "kind": "warnings"},
    ]
    answer = headline(empty)
    assert answer is not None
    assert answer.sentence == (
        "No: 1 of 2 digests has new errors (3 events), 1 returns different results. Worst: select ? (3 new errors)."
    )


def answered(report: Report) -> Headline:
    """Return the headline of a comparison."""
    found = headline(report)
    assert found is not None
    return found


def test_yes_and_cannot_tell(empty: Report) -> None:
    """By the share of the time in digests that can't be judged; a doubt comes before everything."""
    empty.digests = [entry("same", 60), entry("faster", 1), entry("unstable", 39)]
    assert answered(empty).sentence == (
        "Yes: none of 3 digests is slower by more than 10% and 50.0µs, none has new errors; 1 are the same, 1 faster,"
        " of 1 it can't be told (39 % of the time)."
    )
    empty.digests = [entry("same", 60), entry("faster", 1)]
    assert answered(empty).sentence.endswith("1 are the same, 1 faster.")
    empty.digests = [entry("same", 10), entry("unstable", 90)]
    assert answered(empty).sentence.startswith("Cannot tell: 90 % of the time is in statements")
    empty.digests = []
    assert answered(empty).sentence == "Cannot tell: no statement was sent to either side."
    empty.b[0].info["accounting"] = {"balanced": False}
    assert answered(empty).sentence == "Cannot tell: the accounting of run B does not balance."


def test_one_run_has_no_answer(empty: Report) -> None:
    """Nothing is compared, so nothing is answered."""
    assert headline(Report(empty.tape, empty.a, [], Settings())) is None
