# SPDX-License-Identifier: Apache-2.0
"""Causes of errors: from the number, and from lint's rules on the text."""

import re
from pathlib import Path

import pytest
from querytape.analyze import Report
from querytape.analyze.answer.causes import cause_of, of_result, rules_between
from querytape.analyze.findings.cause_table import lines_of
from querytape.analyze.findings.results import KINDS, PERHAPS, SERVER_WRITES
from querytape.analyze.lint.rules import parse_version
from querytape.analyze.model import ServerDifference

from .planted import DIGESTS, planted


@pytest.mark.parametrize(
    ("errno", "word"),
    [
        (1055, "ONLY_FULL_GROUP_BY"), (1366, "strict"), (1292, "strict"), (1406, "strict"), (1071, "key is too long"),
        (1146, "table is missing"), (1054, "column is missing"), (1045, "rights"), (1142, "rights"), (1205, "lock"),
        (1213, "deadlock"), (1153, "packet"), (1301, "packet"), (3024, "time limit"), (1969, "time limit"),
        (1305, "function"), (4711, "error 4711"),
    ],
)  # fmt: skip
def test_numbers_have_causes(errno: int, word: str) -> None:
    """The usual ones by name; any other is named by its number, with what to do next."""
    cause = cause_of(errno, "select ?")
    assert word in cause.text
    assert cause.remedy


def test_an_error_without_a_known_cause_has_its_message() -> None:
    """Its number and what the server answered, never that a message says why."""
    found = cause_of(4711, "select ?", message="Unknown thing:\x1b[2J 'x' " + "y" * 400)
    assert found.text.startswith("error 4711: Unknown thing:")
    assert "\x1b" not in found.text
    assert len(found.text) < 230
    assert "says why" not in found.remedy
    assert cause_of(1205, "select ?", message="Lock wait timeout exceeded").text == "a lock wait that timed out"


@pytest.mark.slow
def test_the_text_says_more_than_the_number(comparison: Report) -> None:
    """At a syntax error or a missing function, a reserved word or a removed function is named, not only the number."""
    rules = rules_between(comparison, "fails")
    found = cause_of(1064, "SELECT rank FROM players", rules)
    assert (found.text, found.remedy) == ("RANK is a reserved word", "quote the name: `rank`")
    assert cause_of(1064, "select rank() over () from players", rules).text == "syntax that B does not have"
    function = cause_of(1305, "select password(?)", rules)
    assert function.text == "PASSWORD() does not exist"
    assert function.remedy.startswith("change passwords")
    assert cause_of(1205, "select rank from players", rules).text == "a lock wait that timed out"


@pytest.mark.slow
def test_rules_are_of_the_way_from_a_to_b(tmp_path: Path) -> None:
    """Between equal versions nothing new is reserved; where B's version is unknown there are none."""
    for number, versions in enumerate((("8.0.42", "8.0.42"), ("8.0.42", "?"))):
        report = planted(tmp_path / str(number), versions)
        assert not [rule for rule in rules_between(report, "fails") if rule.name == "reserved-word-rank"]
    assert str(parse_version("mysql-8.0"))
    assert DIGESTS["reserved"]


def test_every_reason_has_a_remedy(checkout: Path) -> None:
    """Each that the SQL names, and each kind without a reason."""
    text = (checkout / "analyze" / "sql" / "report" / "results.sql").read_text()
    table = text.partition("(VALUES")[2].partition(") AS t(property")[0]
    named = {line.split("'")[1] for line in table.splitlines() if line.startswith("    ('")}
    last = text.rpartition("reasoned AS (")[2]
    known = {line.cause for line in lines_of("reason") if not line.by}
    assert named | set(re.findall(r"THEN '([^']{3,})'", last)) == known - {SERVER_WRITES}
    assert set(PERHAPS) <= known
    assert {line.by[0]: line.cause for line in lines_of("reason") if line.by} == {
        kind: said for kind, said in KINDS.items() if kind != "warnings"
    }
    assert of_result({"reason": "random", "kind": "rows"}).remedy == "this is to be expected"
    assert of_result({"reason": None, "kind": "order"}).text == "other order of rows"


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
            "SHOW CREATE TABLE orders on the side that has it; create or drop it on B",
        ),
        (
            1062,
            ServerDifference("setting", "time_zone", "time_zone: UTC in A, SYSTEM in B", "UTC", "SYSTEM"),
            "a duplicate key",
            "start B from the same data",
        ),
    ],
)
def test_what_differs_is_in_the_cause(errno: int, difference: ServerDifference, text: str, remedy: str) -> None:
    """A setting or an object that decides about the error, and what makes B as A; nothing that does not."""
    found = cause_of(errno, "select ?", (), [difference])
    assert found.text == text
    assert found.remedy.startswith(remedy)
    assert found.remedy.count("set wait_timeout") == 0
