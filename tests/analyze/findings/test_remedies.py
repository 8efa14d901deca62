# SPDX-License-Identifier: Apache-2.0
"""Causes and remedies, grouped and sorted by importance."""

import json
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.analyze import Report, as_html, as_json, as_markdown
from querytape.analyze.findings.headline import BREAKS, ELSE, SLOW
from querytape.analyze.findings.plans import FAILS, SCAN, UNKNOWN
from querytape.analyze.findings.remedies import A_MODES, cause_of, of_result, rules_between, to_do
from querytape.analyze.lint.rules import parse_version
from querytape.analyze.model import ServerDifference, Servers
from querytape.schemas.result_names import RESULT_REASONS

from tests.helpers.reports import terminal_text
from tests.helpers.shapes import plan_of, rows_of

from .planted import DIGESTS, REPEATS, planted


@pytest.mark.parametrize(
    ("errno", "word"),
    [
        (1055, "ONLY_FULL_GROUP_BY"), (1366, "strict"), (1292, "strict"), (1406, "strict"), (1071, "key is too long"),
        (1146, "table is missing"), (1054, "column is missing"), (1045, "log in"), (1142, "privileges"), (1205, "lock"),
        (1213, "deadlock"), (1153, "packet"), (1301, "packet"), (3024, "max_execution_time"), (1969, "max_statement_time"),
        (1305, "function"), (4711, "error 4711"),
    ],
)  # fmt: skip
def test_error_numbers_have_causes(errno: int, word: str) -> None:
    """Common errors have a named cause. Other errors show their number and the next step."""
    cause = cause_of(errno, "select ?")
    assert word in cause.text
    assert cause.remedy


def test_error_without_known_cause_shows_its_message() -> None:
    """The cause contains the error number and the server's message."""
    found = cause_of(4711, "select ?", message="Unknown thing:\x1b[2J 'x' " + "y" * 400)
    assert found.text.startswith("error 4711: Unknown thing:")
    assert "\x1b" not in found.text
    assert len(found.text) < 230
    assert "says why" not in found.remedy
    assert cause_of(1205, "select ?", message="Lock wait timeout exceeded").text == "a lock wait timed out"


@pytest.mark.slow
def test_cause_names_reserved_word_or_removed_function(comparison: Report) -> None:
    """For a syntax error or a missing function, the cause names the word that B rejects."""
    rules = rules_between(comparison, "fails")
    found = cause_of(1064, "SELECT rank FROM players", rules)
    assert (found.text, found.remedy) == ("RANK is a reserved word", "quote the name: `rank`")
    assert cause_of(1064, "select rank() over () from players", rules).text == "B does not support the syntax"
    function = cause_of(1305, "select password(?)", rules)
    assert function.text == "MySQL 8.0 removed PASSWORD()"
    assert function.remedy.startswith("change passwords")
    assert cause_of(1205, "select rank from players", rules).text == "a lock wait timed out"


@pytest.mark.slow
def test_equal_and_unknown_versions_reserve_no_new_words(tmp_path: Path) -> None:
    for number, versions in enumerate((("8.0.42", "8.0.42"), ("8.0.42", "?"))):
        report = planted(tmp_path / str(number), versions)
        assert not [rule for rule in rules_between(report, "fails") if rule.name == "reserved-word-rank"]
    assert str(parse_version("mysql-8.0"))
    assert DIGESTS["reserved"]


def test_every_reason_has_a_remedy(checkout: Path) -> None:
    """Each reason in the SQL files and each kind of difference without a reason needs a remedy."""
    text = (checkout / "analyze" / "sql" / "report" / "results.sql").read_text()
    table = text.partition("(VALUES")[2].partition(") AS t(property")[0]
    named = {line.split("'")[1] for line in table.splitlines() if line.startswith("    ('")}
    last = text.rpartition("reasoned AS (")[2]
    given = named | set(re.findall(r"THEN '([^']{3,})'", last))
    assert given == RESULT_REASONS.keys() - {"server_writes"}  # needs the servers' schemas
    assert of_result(*rows_of("results", {"reason": "chance", "kind": "rows"})).remedy == "the difference is expected"
    assert of_result(*rows_of("results", {"kind": "order"})).text == "different order of rows"


@pytest.mark.parametrize(
    ("errno", "difference", "text", "remedy"),
    [
        (
            4031,
            ServerDifference("setting", "wait_timeout", "wait_timeout: 28800 in A, 2 in B", "28800", "2"),
            "the session was idle for too long: wait_timeout is 28800 in A, 2 in B",
            "SET GLOBAL wait_timeout = 28800 on B",
        ),
        (
            1055,
            ServerDifference(
                "setting", "sql_mode", "sql_mode: only B has ONLY_FULL_GROUP_BY", "", "ONLY_FULL_GROUP_BY"
            ),
            "ONLY_FULL_GROUP_BY (sql_mode: only B has ONLY_FULL_GROUP_BY)",
            "SET GLOBAL sql_mode = '' on B, or name every selected column in GROUP BY or in an aggregate",
        ),
        (
            1146,
            ServerDifference("table", "orders", "B lacks the table orders", table="orders"),
            "a table is missing: B lacks the table orders",
            "SHOW CREATE TABLE orders on the side that has the table, then create or drop the table on B",
        ),
        *(
            (errno, ServerDifference(kind, name, said, table="w"), f"{cause}{said}", f"SHOW CREATE {shown}")
            for errno, kind, name, said, cause, shown in (
                (1062, "index", "w.u", "A lacks index u on w (a)", "a duplicate key: ", "TABLE w on A"),
                (1191, "index", "w.f", "B lacks index f on w (n)", "a FULLTEXT index is missing: ", "TABLE w on A"),
                (
                    1364,
                    "column",
                    "w.z",
                    "A lacks column z on w",
                    "a column without a default gets no value: ",
                    "TABLE w",
                ),
                (
                    3819,
                    "check",
                    "w.a > 0",
                    "A lacks CHECK a > 0 on w",
                    "a row violates a CHECK constraint: ",
                    "TABLE w",
                ),
                (1526, "partition", "w", "w is not partitioned in A", "no partition matches a value: ", "TABLE w"),
                (
                    1644,
                    "trigger",
                    "w.t",
                    "A lacks trigger t on w",
                    "a trigger or routine raised an error: ",
                    "TRIGGER t",
                ),
                (1146, "trigger", "w.t", "A lacks trigger t on w", "a table is missing: ", "TRIGGER t on the side"),
            )
        ),
        (
            1318,
            ServerDifference(
                "routine",
                "shop.p parameters",
                "routine shop.p: parameters x in A, x,y in B",
                "x",
                "x,y",
                fact="parameters",
            ),
            "a routine has different parameters (routine shop.p: parameters x in A, x,y in B)",
            "SHOW CREATE PROCEDURE (or FUNCTION) shop.p on the side that has the routine",
        ),
        (
            1062,
            ServerDifference("setting", "time_zone", "time_zone: UTC in A, SYSTEM in B", "UTC", "SYSTEM"),
            "a duplicate key",
            "start B from the same data",
        ),
    ],
)
def test_cause_names_the_difference_and_how_to_remove_it(
    errno: int, difference: ServerDifference, text: str, remedy: str
) -> None:
    """The cause names only settings and objects that affect the error. The remedy makes B equal to A."""
    found = cause_of(errno, "select ?", (), [difference])
    assert found.text == text
    assert found.remedy.startswith(remedy)
    assert found.remedy.count("set wait_timeout") == 0


@pytest.mark.parametrize("errno", [1264, 1265, 1292, 1365, 1366, 1406])
def test_equal_sql_modes_are_not_offered_as_remedy(errno: int) -> None:
    known, unknown = cause_of(errno, "insert", compared=True), cause_of(errno, "insert")
    assert unknown.remedy.startswith(A_MODES)
    assert known.remedy == unknown.remedy.partition(", or ")[2]


def test_breaking_changes_come_first(comparison: Report) -> None:
    """The order of tasks is: errors by event count, changed results, explained results, slower statements."""
    tasks = to_do(comparison)
    assert [task.part for task in tasks] == [BREAKS] * 4 + [ELSE] * 2 + [SLOW]
    said = [task.said() for task in tasks]
    assert said[0].startswith(f"1 digest, {REPEATS} errors: ONLY_FULL_GROUP_BY; run B with the sql_mode of A, or ")
    assert said[1].startswith(f"1 digest, {REPEATS} errors: RANK is a reserved word; quote the name")
    assert said[2].startswith(f"1 digest, {REPEATS} errors: a table is missing (also in A, but not in production);")
    assert said[3].startswith("1 digest, 9 errors: a lock wait timed out;")
    assert [task.expected for task in tasks[4:6]] == [False, True]
    assert [task.cause for task in tasks[4:6]] == ["GROUP BY no longer sorts", "LIMIT without ORDER BY"]
    assert said[6].startswith(
        f"2 digests, {2 * REPEATS} events, 57.7ms lost (288µs per event): no known difference explains the slowdown"
    )
    assert list(tasks[6].digests) == [DIGESTS["slow"], DIGESTS["slower"]], "what lost most comes first"


def test_equal_causes_form_one_group(comparison: Report) -> None:
    """Digests with the same error share a group. The digest with the most events comes first."""
    report = deepcopy(comparison)
    row = next(row for row in report.answers["errors"] if row["after"] == 1055)
    report.answers["errors"].append({**row, "digest": DIGESTS["fine"], "after": 3065, "events": 2 * REPEATS})
    first = to_do(report)[0]
    assert first.said().startswith(f"2 digests, {3 * REPEATS} errors: ONLY_FULL_GROUP_BY; ")
    assert first.digests == {DIGESTS["fine"]: 2 * REPEATS, DIGESTS["grouped"]: REPEATS}


def test_dependent_errors_are_listed_under_their_root(comparison: Report) -> None:
    """A table is missing because its CREATE failed. The report shows the cause and digest of the CREATE."""
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
    assert f"2 digests, {REPEATS + 9} errors, {REPEATS} of them after an earlier error: " in first.said()
    assert not [task for task in to_do(report) if "a table is missing" in task.cause]


def test_slowdown_has_a_cause(comparison: Report) -> None:
    """The cause of a slowdown is a server difference that affects the statement. If there is none, the cause is a
    changed plan. If the plan is also unchanged, the cause is unknown.
    """
    report = deepcopy(comparison)
    lacks = ServerDifference("index", "t.k", "B lacks index k on t (id)", table="t", changed=(DIGESTS["slow"],))
    report = replace(report, servers=Servers((lacks,)))
    report.query_plans[DIGESTS["slower"]] = plan_of({"changes": ["t: ref by k -> a full scan"]})
    slow = [task for task in to_do(report) if task.part == SLOW]
    assert [task.cause for task in slow] == [
        "B lacks index k on t (id)",
        "another query plan (t: ref by k -> a full scan)",
    ]
    assert [task.lost_ns for task in slow] == sorted((task.lost_ns for task in slow), reverse=True)


def test_report_does_not_ask_again_for_known_equal_plans(comparison: Report) -> None:
    """The remedy for an unexplained slowdown depends on whether its plans are known."""
    report = deepcopy(comparison)
    (unknown,) = (task.remedy for task in to_do(report) if task.part == SLOW)
    assert unknown == "use querytape plans to compare the plans of both servers"
    for name in ("slow", "slower"):
        report.query_plans[DIGESTS[name]] = plan_of({"class": "same"})
    (known,) = (task.remedy for task in to_do(report) if task.part == SLOW)
    assert known == "use querytape plans --analyze 2s to count the work of each execution (the plans agree)"


def test_counters_explain_slowdown_with_equal_plans(comparison: Report) -> None:
    """Digests whose same counter increased share one cause. The cause shows the range of the counter's values."""
    report = deepcopy(comparison)
    for name, pages in (("slow", 225), ("slower", 9000)):
        sides = [{"counters": json.dumps({"counters": {"Innodb_pages_read": n}})} for n in (0.2, pages)]
        report.query_plans[DIGESTS[name]] = plan_of({"class": "same", "a": sides[0], "b": sides[1]})
    words = "plans agree; for each execution B reads 225 to 9,000 pages from disk, A 0.2"
    assert [task.cause for task in to_do(report) if task.part == SLOW] == [words]
    for text in (as_json(report), as_markdown(report), as_html(report), terminal_text(report)):
        assert "plans agree; for each execution B reads 225" in " ".join(text.split())
    found = json.loads(as_json(report))["query_plans"][DIGESTS["slow"]]
    assert found["work"] == "plans agree; for each execution B reads 225 pages from disk, A 0.2"
    assert found["counters"] == {"a": {"Innodb_pages_read": 0.2}, "b": {"Innodb_pages_read": 225}}
    del report.query_plans[DIGESTS["slower"]]
    assert [task.cause for task in to_do(report) if task.part == SLOW] == [
        "plans agree; for each execution B reads 225 pages from disk, A 0.2",
        "no known difference explains the slowdown",
    ]


def test_inconclusive_digests_come_last(comparison: Report) -> None:
    """An inconclusive digest is listed only if a cause for its slowdown is known."""
    report = deepcopy(comparison)
    for entry in report.digests:
        if entry["digest"] in (DIGESTS["slow"], DIGESTS["slower"]):
            entry["verdict"] = "inconclusive"
    lacks = ServerDifference("index", "t.k", "B lacks index k on t (id)", table="t", inconclusive=(DIGESTS["slow"],))
    tasks = to_do(replace(report, servers=Servers((lacks,))))
    assert [task.cause for task in tasks if task.inconclusive] == ["B lacks index k on t (id)"]
    assert tasks[-1].inconclusive
    assert "with inconclusive times: B lacks index k on t (id); SHOW CREATE TABLE t on A, " in tasks[-1].said()


def test_column_collation_explains_changed_results(comparison: Report) -> None:
    """A different collation of a named column is a cause. A different column default is not."""
    report = deepcopy(comparison)
    row = next(row for row in report.answers["results"] if row["known"] is None)
    row["reason"] = None
    for fact, found in (("collation", True), ("default", False)):
        other = ServerDifference(
            "column", f"t.g {fact}", "column t.g", table="t", changed=(row["digest"] or "",), fact=fact
        )
        causes = [task.cause for task in to_do(replace(report, servers=Servers((other,)))) if task.part == ELSE]
        assert any("column t.g" in cause for cause in causes) == found


def test_unknown_error_shows_message_of_b(comparison: Report) -> None:
    report = deepcopy(comparison)
    row = next(row for row in report.answers["errors"] if row["after"] == 1055)
    row |= {"after": 4711, "error": "Unknown or incorrect time zone: '?'"}
    assert any("error 4711: Unknown or incorrect time zone: '?';" in task.said() for task in to_do(report))


@pytest.mark.parametrize(
    ("word", "text", "cause"),
    [
        (UNKNOWN, "EXPLAIN fails on both: error 1305, error 1305", "no known difference explains the slowdown"),
        (UNKNOWN, "not asked: it writes", "no known difference explains the slowdown"),
        (FAILS, "EXPLAIN fails in B: error 1054", "EXPLAIN fails in B: error 1054"),
        (SCAN, "t: ref by k -> a full scan", "another query plan (t: ref by k -> a full scan)"),
    ],
)
def test_failed_explain_is_no_plan_change(word: str, text: str, cause: str, comparison: Report) -> None:
    """If EXPLAIN failed or did not run, the report shows no changed plan."""
    report = deepcopy(comparison)
    for name in ("slow", "slower"):
        report.query_plans[DIGESTS[name]] = plan_of({"changes": [text], "class": word})
    assert [task.cause for task in to_do(report) if task.part == SLOW] == [cause]
