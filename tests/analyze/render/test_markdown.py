# SPDX-License-Identifier: Apache-2.0
"""The report as Markdown."""

from querytape.analyze import Report, as_markdown

from tests.helpers.shapes import entry_of


def test_markdown_has_answer_statement_and_totals(report: Report) -> None:
    text = as_markdown(report)
    assert "**No: 1 of 8 digests is slower" in text
    assert "| **slower**: takes " in text
    assert "| service p50 |" in text


def test_error_shows_number_masked_message_statement_and_events(small_report: Report) -> None:
    (line,) = [line for line in as_markdown(small_report).splitlines() if line.startswith("| new | 1205")]
    statement = "`select a from t where id = 1` (session 1, event 16)"
    assert line == f"| new | 1205 Lock wait timeout exceeded for '?' | {statement} | 0 | 0 | 1 |"


def test_markup_and_tags_in_a_statement_are_escaped(small_report: Report) -> None:
    entry = entry_of(small_report.digests[0], {"verdict": "slower", "why": "<b>|x", "text": "a`b|c"})
    text = as_markdown(
        Report(small_report.tape, small_report.a, small_report.b, answers=small_report.answers, digests=[entry])
    )
    assert "| **slower**: &lt;b&gt;\\|x | `a'b\\|c` |" in text
