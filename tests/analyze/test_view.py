# SPDX-License-Identifier: Apache-2.0
"""What a report shows is decided once: the same sentences and tones on a terminal, in Markdown and on the page."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.analyze import Report, as_html, as_markdown, build
from querytape.analyze.view import Differences, Said, Tone, View, view_of

from tests.analyze.findings.planted import planted
from tests.helpers.reports import terminal_text
from tests.helpers.shapes import plan_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One thing of each kind."""
    return planted(tmp_path_factory.mktemp("planted"))


def plain(text: str) -> str:
    """Return the words of an output, without marks of its language and ends of lines."""
    unmarked = html.unescape(re.sub(r"<[^>]+>", " ", text).replace("\\", "").replace("**", ""))
    return " ".join(unmarked.split())


def sentences(view: View) -> Iterator[str]:
    """Yield what each output shows."""
    yield view.question
    assert view.answer is not None
    yield view.answer.text
    yield from (said.text for said in view.differences.shown[:8])
    yield from (task.said for task in view.tasks[:8])


@pytest.mark.parametrize("output", [terminal_text, as_markdown, as_html])
def test_each_output_has_each_sentence_word_for_word(output: object, comparison: Report) -> None:
    assert callable(output)
    shown = plain(output(comparison))
    missing = [text for text in sentences(view_of(comparison)) if " ".join(text.split()) not in shown]
    assert missing == []


def test_parts_are_in_each_output(comparison: Report) -> None:
    """As cells on a terminal, as a sentence in Markdown, as two lines on the page."""
    view = view_of(comparison)
    terminal, lines, page = (plain(output(comparison)) for output in (terminal_text, as_markdown, as_html))
    for part in view.parts:
        assert " ".join(part.cells) in terminal
        assert f"{part.name}: {part.said}" in lines
        assert f"{part.counts} {part.shares}" in page


def test_tones(comparison: Report) -> None:
    """What breaks or differs is bad, what only takes longer a warning, what is to be expected neither."""
    view = view_of(comparison)
    assert view.answer is not None
    assert view.answer.tone is Tone.BAD
    assert {part.name: part.tone for part in view.parts} == {
        "breaks": Tone.BAD,
        "returns something else": Tone.BAD,
        "is slower": Tone.WARN,
    }
    assert view.acts == {"statements", "errors", "results"}
    assert {task.tone for task in view.tasks if task.part == "breaks"} == {Tone.BAD}
    assert all(task.asks == (task.tone is not Tone.SOFT) for task in view.tasks if task.tag == task.part)


def test_results_events_and_lateness(small_report: Report) -> None:
    """In words: how and why results differ, what became of the events, what they waited for."""
    view = view_of(small_report)
    (row,) = [row for row in view.results if row.what == "different number of rows"]
    assert (row.events, row.more_rows, row.reason) == (1, "3", "")
    assert [(line.letter, line.status, line.share) for line in view.events] == [
        ("A", "executed", "100.0%"),
        ("B", "executed", "100.0%"),
    ]
    assert {line.letter for line in view.lateness} == {"A", "B"}
    assert not view.results_same


def test_one_run_is_compared_with_the_tape_and_has_no_answer(small_paths: tuple[Path, Path, Path]) -> None:
    view = view_of(build(small_paths[0], [small_paths[1]]))
    assert (view.reference, view.answer, view.question, view.parts, view.tasks, view.verdicts) == (
        *("the tape", None, ""),
        *((), (), ()),
    )
    assert view.results_same
    assert view.results_answer.startswith("all results match the tape (")


def test_what_is_said_where_nothing_is_listed(comparison: Report) -> None:
    """Errors, plans and variables each have a sentence of their own for that."""
    view = view_of(replace(comparison, query_plans={}, variables=[{"name": "x", "a": "1", "b": "2"}]))
    assert view.plans_answer == "No query plans were recorded (--query-plans)."
    assert (view.plans, view.works, view.write_work) == ((), (), "")
    assert (view.errors_answer, view.others_said[:7]) == ("No statement failed.", "1 varia")
    planned = replace(comparison, query_plans={"none": plan_of()})
    assert view_of(planned).plans_answer == "The most expensive statements have the same query plans."


def test_the_first_difference_stands_for_all() -> None:
    """The most important one and how many more; those of the version alone only where there is no other."""
    one, more = Said(Tone.BAD, "B lacks k"), Said(Tone.WARN, "x")
    shown = Differences((one, more), 3, ("y",), None)
    assert (shown.title, shown.first, shown.others) == ("The servers differ:", "B lacks k", "and 4 more")
    alone = Differences((), 0, ("y", "z"), None)
    assert (alone.title, alone.first, alone.others) == (
        "The servers differ",
        "in 2 points caused only by the version",
        "",
    )
