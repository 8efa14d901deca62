# SPDX-License-Identifier: Apache-2.0
"""The view determines the contents of a report once. The terminal, Markdown and the page show the same texts and tones."""

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
    """Build a comparison with one planted difference of each kind."""
    return planted(tmp_path_factory.mktemp("planted"))


def plain(text: str) -> str:
    """Return the words of an output without markup and line ends."""
    unmarked = html.unescape(re.sub(r"<[^>]+>", " ", text).replace("\\", "").replace("**", ""))
    return " ".join(unmarked.split())


def sentences(view: View) -> Iterator[str]:
    """Yield the texts that each output shows."""
    yield view.question
    assert view.answer is not None
    yield view.answer.text
    yield from (said.text for said in view.differences.shown[:8])
    yield from (task.said for task in view.tasks[:8])


@pytest.mark.parametrize("output", [terminal_text, as_markdown, as_html])
def test_each_output_contains_each_text_unchanged(output: object, comparison: Report) -> None:
    assert callable(output)
    shown = plain(output(comparison))
    missing = [text for text in sentences(view_of(comparison)) if " ".join(text.split()) not in shown]
    assert missing == []


def test_parts_of_the_answer_are_in_each_output(comparison: Report) -> None:
    """The parts of the answer are cells on a terminal, a sentence in Markdown, and two lines on the page."""
    view = view_of(comparison)
    terminal, lines, page = (plain(output(comparison)) for output in (terminal_text, as_markdown, as_html))
    for part in view.parts:
        assert " ".join(part.cells) in terminal
        assert f"{part.name}: {part.said}" in lines
        assert f"{part.counts} {part.shares}" in page


def test_each_part_has_the_tone_of_its_severity(comparison: Report) -> None:
    """Errors and changed results are bad, slower statements are a warning, and expected changes are neutral."""
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


def test_results_events_and_lateness_have_texts(small_report: Report) -> None:
    """The texts are for the kinds and reasons of changed results, the outcomes of events, and the causes of lateness."""
    view = view_of(small_report)
    (row,) = [row for row in view.results if row.what == "different number of rows"]
    assert (row.events, row.more_rows, row.reason) == (1, "3", "")
    assert [(line.letter, line.status, line.share) for line in view.events] == [
        ("A", "executed", "100.0%"),
        ("B", "executed", "100.0%"),
    ]
    assert {line.letter for line in view.lateness} == {"A", "B"}
    assert not view.results_same


def test_single_run_is_compared_with_the_tape(small_paths: tuple[Path, Path, Path]) -> None:
    view = view_of(build(small_paths[0], [small_paths[1]]))
    assert (view.reference, view.answer, view.question, view.parts, view.tasks, view.verdicts) == (
        *("the tape", None, ""),
        *((), (), ()),
    )
    assert view.results_same
    assert view.results_answer.startswith("all results match the tape (")


def test_empty_lists_have_a_text(comparison: Report) -> None:
    """Errors, plans and variables each have their own text for an empty list."""
    view = view_of(replace(comparison, query_plans={}, variables=[{"name": "x", "a": "1", "b": "2"}]))
    assert view.plans_answer == "No query plans were recorded (--query-plans)."
    assert (view.plans, view.works, view.write_work) == ((), (), "")
    assert (view.errors_answer, view.others_said[:7]) == ("No statement failed.", "1 varia")
    planned = replace(comparison, query_plans={"none": plan_of()})
    assert view_of(planned).plans_answer == "The most expensive statements have the same query plans."


def test_most_important_difference_is_shown_with_a_count() -> None:
    """A difference that only the version causes is shown only if no other difference exists."""
    one, more = Said(Tone.BAD, "B lacks k"), Said(Tone.WARN, "x")
    shown = Differences((one, more), 3, ("y",), None)
    assert (shown.title, shown.first, shown.others) == ("The servers differ:", "B lacks k", "and 4 more")
    alone = Differences((), 0, ("y", "z"), None)
    assert (alone.title, alone.first, alone.others) == (
        "The servers differ",
        "in 2 points (caused only by the version)",
        "",
    )
