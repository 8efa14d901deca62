# SPDX-License-Identifier: Apache-2.0
"""What is to be done: cause and remedy by group, in the order of what matters."""

import io
import json
from copy import deepcopy
from dataclasses import replace

import pytest
from querytape.analyze import Report, as_html, as_json, as_markdown, show_report
from querytape.analyze.answer.parts import BREAKS, ELSE, SLOW
from querytape.analyze.answer.to_do import to_do
from querytape.analyze.findings.plan_classes import FAILS, SCAN, UNKNOWN
from querytape.analyze.model import ServerDifference, Servers
from rich.console import Console

from .planted import DIGESTS, REPEATS


def test_what_breaks_comes_first(comparison: Report) -> None:
    """Errors by their number of events, then other results, what has a reason last, then times: never by time alone."""
    tasks = to_do(comparison)
    assert [task.part for task in tasks] == [BREAKS] * 4 + [ELSE] * 2 + [SLOW]
    said = [task.said() for task in tasks]
    assert said[0].startswith(f"1 digest, {REPEATS} errors: ONLY_FULL_GROUP_BY; run B with A's sql_mode, or ")
    assert said[1].startswith(f"1 digest, {REPEATS} errors: RANK is a reserved word; quote the name")
    assert said[2].startswith(f"1 digest, {REPEATS} errors: a table is missing (in A, too; production answered it);")
    assert said[3].startswith("1 digest, 9 errors: a lock wait that timed out;")
    assert [task.expected for task in tasks[4:6]] == [False, True]
    assert [task.cause for task in tasks[4:6]] == ["GROUP BY no longer sorts", "LIMIT without ORDER BY"]
    assert said[6].startswith(f"2 digests, {2 * REPEATS} events, 57.7ms lost (288µs an event): nothing that differs")
    assert list(tasks[6].digests) == [DIGESTS["slow"], DIGESTS["slower"]], "what lost most comes first"


def test_one_cause_is_one_group(comparison: Report) -> None:
    """Several digests that fail alike stand together; the one with the most events is named first."""
    report = deepcopy(comparison)
    row = next(row for row in report.answers["errors"] if row["after"] == 1055)
    report.answers["errors"].append({**row, "digest": DIGESTS["fine"], "after": 3065, "events": 2 * REPEATS})
    first = to_do(report)[0]
    assert first.said().startswith(f"2 digests, {3 * REPEATS} errors: ONLY_FULL_GROUP_BY; ")
    assert first.digests == {DIGESTS["fine"]: 2 * REPEATS, DIGESTS["grouped"]: REPEATS}


def test_what_follows_stands_under_its_root(comparison: Report) -> None:
    """A table is missing since its CREATE failed: the cause and the first digest are those of the CREATE."""
    report = deepcopy(comparison)
    for entry in report.digests:
        if entry["digest"] == DIGESTS["locked"]:
            entry["text"] = "create table missing ( pad int )"
    for row in report.answers["errors"]:
        row["after"] = 3750 if row["digest"] == DIGESTS["locked"] else row["after"]
        row["what"] = "new"
    report = replace(report, tables={DIGESTS["missing"]: frozenset({"missing"})})
    first = next(task for task in to_do(report) if "primary key" in task.cause)
    assert list(first.digests) == [DIGESTS["locked"], DIGESTS["missing"]]
    assert f"2 digests, {REPEATS + 9} errors, {REPEATS} of them since another one failed before: " in first.said()
    assert not [task for task in to_do(report) if "a table is missing" in task.cause]


def test_why_something_is_slower(comparison: Report) -> None:
    """A difference of the servers that concerns the statement, else another plan, else nothing that is known."""
    report = deepcopy(comparison)
    lacks = ServerDifference("index", "t.k", "B lacks index k on t (id)", table="t", changed=(DIGESTS["slow"],))
    report = replace(report, servers=Servers((lacks,)))
    report.query_plans[DIGESTS["slower"]] = {"changes": ["t: ref by k -> a full scan"]}
    slow = [task for task in to_do(report) if task.part == SLOW]
    assert [task.cause for task in slow] == [
        "B lacks index k on t (id)",
        "another query plan (t: ref by k -> a full scan)",
    ]
    assert [task.lost_ns for task in slow] == sorted((task.lost_ns for task in slow), reverse=True)


def test_counters_speak_where_plans_agree(comparison: Report) -> None:
    """One cause for all digests of which B does more of the same, with the range of their numbers."""
    report = deepcopy(comparison)
    for name, pages in (("slow", 225), ("slower", 9000)):
        sides = [{"counters": json.dumps({"counters": {"Innodb_pages_read": n}})} for n in (0.2, pages)]
        plan = {"class": "same", "changes": [], "a": sides[0], "b": sides[1], "server_digest": {}}
        report.query_plans[DIGESTS[name]] = plan
    words = "plans agree; for each execution B reads 225 to 9,000 pages from disk, A 0.2"
    assert [task.cause for task in to_do(report) if task.part == SLOW] == [words]
    for text in (as_json(report), as_markdown(report), as_html(report), shown(report)):
        assert "plans agree; for each execution B reads 225" in " ".join(text.split())
    found = json.loads(as_json(report))["query_plans"][DIGESTS["slow"]]
    assert found["work"] == "plans agree; for each execution B reads 225 pages from disk, A 0.2"
    assert found["counters"] == {"a": {"Innodb_pages_read": 0.2}, "b": {"Innodb_pages_read": 225}}
    del report.query_plans[DIGESTS["slower"]]
    assert [task.cause for task in to_do(report) if task.part == SLOW] == [
        "plans agree; for each execution B reads 225 pages from disk, A 0.2",
        "nothing that differs explains it",
    ]


def shown(report: Report) -> str:
    """Return a report as a terminal shows it."""
    file = io.StringIO()
    show_report(report, Console(file=file, width=80))
    return file.getvalue()


def test_what_its_times_cannot_judge_is_named_last(comparison: Report) -> None:
    """With the cause that concerns it; where nothing does, it is not listed."""
    report = deepcopy(comparison)
    for entry in report.digests:
        if entry["digest"] in (DIGESTS["slow"], DIGESTS["slower"]):
            entry["verdict"] = "cannot tell"
    lacks = ServerDifference("index", "t.k", "B lacks index k on t (id)", table="t", untold=(DIGESTS["slow"],))
    tasks = to_do(replace(report, servers=Servers((lacks,))))
    assert [task.cause for task in tasks if task.untold] == ["B lacks index k on t (id)"]
    assert tasks[-1].untold
    assert (
        "their times do not tell whether B is slower: B lacks index k on t (id); SHOW CREATE TABLE t on A, "
        in tasks[-1].said()
    )


def test_other_results_by_another_column(comparison: Report) -> None:
    """A column that a statement names and whose collation differs is the cause of its other results; its default is none."""
    report = deepcopy(comparison)
    row = next(row for row in report.answers["results"] if row["known"] is None)
    row["reason"] = None
    for fact, found in (("collation", True), ("default", False)):
        other = ServerDifference("column", f"t.g {fact}", "column t.g", table="t", changed=(row["digest"],))
        causes = [task.cause for task in to_do(replace(report, servers=Servers((other,)))) if task.part == ELSE]
        assert any("column t.g" in cause for cause in causes) == found


def test_an_unknown_error_is_named_by_its_message(comparison: Report) -> None:
    """As the server of B answered."""
    report = deepcopy(comparison)
    row = next(row for row in report.answers["errors"] if row["after"] == 1055)
    row |= {"after": 4711, "error": "Unknown or incorrect time zone: '?'"}
    assert any("error 4711: Unknown or incorrect time zone: '?';" in task.said() for task in to_do(report))


@pytest.mark.parametrize(
    ("word", "text", "cause"),
    [
        (UNKNOWN, "EXPLAIN fails on both: error 1305, error 1305", "nothing that differs explains it"),
        (UNKNOWN, "not asked: it writes", "nothing that differs explains it"),
        (FAILS, "EXPLAIN fails in B: error 1054", "EXPLAIN fails in B: error 1054"),
        (SCAN, "t: ref by k -> a full scan", "another query plan (t: ref by k -> a full scan)"),
    ],
)
def test_what_is_no_plan_is_no_other_plan(word: str, text: str, cause: str, comparison: Report) -> None:
    """An EXPLAIN that fails, or was not asked, shows no other plan."""
    report = deepcopy(comparison)
    for name in ("slow", "slower"):
        report.query_plans[DIGESTS[name]] = {"changes": [text], "class": word}
    assert [task.cause for task in to_do(report) if task.part == SLOW] == [cause]
