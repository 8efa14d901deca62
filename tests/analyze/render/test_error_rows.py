# SPDX-License-Identifier: Apache-2.0
"""The error tables: each row names its statement and the number of failures on the tape, in A and in B."""

from dataclasses import replace
from typing import Any

from querytape.analyze import Report, as_html, as_markdown
from querytape.analyze.render.error_rows import apart, error_rows, show_errors

from tests.helpers.reports import printed, terminal_text
from tests.helpers.shapes import answers_of, entry_of

LONG = "select c1, c2, c3, c4, c5, c6, c7, c8, c9 from a_table_with_a_name_of_some_length where " * 3


def failing(report: Report, *whats: dict[str, Any]) -> Report:
    """Return the report with errors of its first digests. The statements of these digests have a common beginning."""
    digests = [entry_of(entry, {"text": f"{LONG} x{n} = ?"}) for n, entry in enumerate(report.digests)]
    known = {
        "what": "new",
        "before": 0,
        "after": 1064,
        "tape": 0,
        "events": 7,
        "error": "near '?'",
        "error_before": None,
    }
    rows = [
        {**known, "digest": entry["digest"], "first_session": n, "first_seq": 2, **what}
        for n, (entry, what) in enumerate(zip(digests, whats, strict=False))
    ]
    return replace(report, digests=digests, answers=answers_of(report.answers, errors=rows))


def test_errors_of_similar_statements_have_distinguishable_rows(report: Report) -> None:
    changed = failing(report, {}, {}, {})
    rows = error_rows(changed, 90)
    assert len({row.statement for row in rows}) == 3
    assert [row.statement[-6:] for row in rows] == ["x0 = ?", "x1 = ?", "x2 = ?"]
    shown = printed(show_errors, changed, 10)
    for text in (shown, as_markdown(changed), as_html(changed)):
        assert all(f"x{n} = ?" in text for n in range(3))
    assert max(map(len, shown.splitlines())) <= 80


def test_failures_are_counted_for_tape_a_and_b_separately(report: Report) -> None:
    """If the tape has no error numbers, the number of failures on the tape is unknown, not 0."""
    both = {"what": "both", "before": 1064, "after": 1064}
    gone = {"what": "gone", "before": 1055, "after": 0, "tape": None, "error": None, "error_before": "gone now"}
    same = {"what": "same", "before": 1, "after": 1, "tape": 1}
    rows = error_rows(failing(report, {}, both, gone, same))
    assert [row.failed for row in rows] == [
        {"tape": 0, "A": 0, "B": 7},
        {"tape": 0, "A": 7, "B": 7},
        {"tape": None, "A": 7, "B": 0},
        {"tape": 7, "A": 7, "B": 7},
    ]
    assert [row.is_new for row in rows] == [True, True, False, False]
    assert rows[2].error == "1055 gone now"


def test_similar_texts_are_shortened_to_show_their_difference() -> None:
    """Short texts stay complete and equal texts stay equal. Texts with a common beginning are shown at their first
    difference.
    """
    assert apart(["a", "b", "a"], 10) == ["a", "b", "a"]
    first, second = apart(["x" * 80 + "1", "x" * 80 + "2"], 60)
    assert (first[-1], second[-1]) == ("1", "2")
    assert len(first) <= 60


def test_statements_with_common_beginning_are_shown_at_their_difference(report: Report) -> None:
    changed = [entry_of(entry, {"verdict": "unstable"}) for entry in failing(report).digests[:3]]
    report = replace(report, digests=changed)
    for text in (terminal_text(report), as_markdown(report)):
        assert all(f"x{n} = ?" in text for n in range(3))
