# SPDX-License-Identifier: Apache-2.0
"""The answer on a terminal and in Markdown, HTML and JSON. The question comes first, then breaking changes, then slower
statements.
"""

import io
import json
from pathlib import Path

import pytest
from querytape.analyze import Report, as_html, as_json, as_markdown, build
from querytape.analyze.findings.headline import BREAKS, ELSE, SLOW
from querytape.analyze.model import ServerDifference, Servers
from querytape.analyze.render.answer_text import _chosen, show_servers
from querytape.analyze.view import TaskLine, Tone, differences_of
from rich.console import Console

from tests.analyze.findings.planted import planted
from tests.helpers.reports import HOSTILE, terminal_text

pytestmark = pytest.mark.slow

QUESTION = "May this traffic move from A (a.db:3306, 5.7.44-log) to B (b.db:3306, 8.0.42)?"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Build a comparison with one planted difference of each kind."""
    return planted(tmp_path_factory.mktemp("planted"))


def test_order_of_sections_on_a_terminal(comparison: Report) -> None:
    """The order on a terminal is: question, answer, parts, tasks, limits. Lines are at most 80 columns wide."""
    text = terminal_text(comparison)
    flat = " ".join(text.split())
    order = [
        QUESTION,
        "No: 3 of 9 digests have new errors (209 events), 1 returns different results, 2 are slower.",
        "breaks 4 309 34.3 %",
        "returns something else 2 200 22.2 % 22.2 %",
        "is slower 2 200 22.2 % 22.2 %",
        "Worst: select a, b",
        "What to do 1. 1 digest, 100 errors: ONLY_FULL_GROUP_BY",
        "7. 2 digests, 200 events",
        "problem: 100 events of 1 digest failed on both sides",
        "Totals",
    ]
    places = [flat.index(words) for words in order]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 80


def test_each_output_has_the_same_question_parts_and_tasks(comparison: Report) -> None:
    page, shown, lines = as_html(comparison), json.loads(as_json(comparison)), as_markdown(comparison)
    assert (
        page.index('id="question"') < page.index('id="answer"') < page.index("What to do") < page.index("Statements ")
    )
    assert shown["question"] == QUESTION
    assert [part["name"] for part in shown["parts"]] == ["breaks", "returns something else", "is slower"]
    assert [task["part"] for task in shown["to_do"]] == [
        *["breaks"] * 4,
        *["returns something else"] * 2,
        "is slower",
    ]
    assert shown["to_do"][0]["events"] == sum(shown["to_do"][0]["digests"].values()) == 100
    plain = lines.replace("\\", "")
    assert (
        plain.index(QUESTION) < plain.index("**No: 3 of 9") < plain.index("**breaks**: 4 digests, 309 events, 34.3 %")
    )
    assert "1. 1 digest, 100 errors: RANK is a reserved word; quote the name" in plain


def test_single_run_has_no_question_and_no_parts(small_paths: tuple[Path, Path, Path]) -> None:
    alone = build(small_paths[0], [small_paths[1]])
    assert "May this traffic" not in terminal_text(alone) + as_html(alone) + as_markdown(alone)
    shown = json.loads(as_json(alone))
    assert (shown["question"], shown["parts"], shown["to_do"]) == (None, None, None)


def test_markup_in_server_name_is_escaped(tmp_path: Path) -> None:
    report = planted(tmp_path, ("5.7", HOSTILE))
    for text in (terminal_text(report), as_html(report), as_markdown(report)):
        assert "\x1b" not in text
        assert text == terminal_text(report) or "<script>alert(1)" not in text


def test_each_part_keeps_tasks_in_a_shortened_list() -> None:
    """The terminal shows the first tasks of a long list and at least two tasks of each part. Each task keeps its number
    from the full list.
    """
    parts = enumerate([BREAKS] * 7 + [ELSE] * 5 + [SLOW] * 3, 1)
    tasks = [TaskLine(Tone.BAD, part, True, f"cause {n}", part, (), ()) for n, part in parts]
    assert [number for number, _ in _chosen(tasks)] == [1, 2, 3, 4, 8, 9, 13, 14]
    assert [task.said for _, task in _chosen(tasks)][-1] == "cause 14"
    assert [number for number, _ in _chosen(tasks[:8])] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [number for number, _ in _chosen(tasks[7:])] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert _chosen([]) == []


def servers_shown(servers: Servers) -> list[str]:
    """Return the server differences as lines of an 80-column terminal."""
    file = io.StringIO()
    show_servers(differences_of(servers), Console(file=file, width=80))
    return file.getvalue().splitlines()


def test_long_list_of_causes_is_shortened() -> None:
    """Each cause has one line, and omitted causes are counted. Effects of the version are only counted. Control
    characters are removed.
    """
    many = tuple(ServerDifference("setting", f"s{n}", f"s{n}: 1 in A, 2 in B") for n in range(9))
    one = ServerDifference("index", "o.k", "B lacks index k\x1b[2J on o", table="o", changed=("d1",))
    folded = ServerDifference("column", "o.c", "x", folded=True)
    lines = servers_shown(Servers((one, *many, folded), more=3, problem="half [b]is[/b] known"))
    assert lines[1:3] == [
        "The servers differ",
        "  B lacks index k [2J on o: 1 changed statement uses the index",
    ]
    assert lines[-2:] == [
        "  ... 5 more (use --html or --json); 1 difference caused only by the version",
        "half [b]is[/b] known",
    ]
    assert all(len(line) <= 80 for line in lines)


def test_equal_servers_take_no_line() -> None:
    assert servers_shown(Servers()) == []
