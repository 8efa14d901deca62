# SPDX-License-Identifier: Apache-2.0
"""Causes of errors: from the number, and from lint's rules on the text."""

from pathlib import Path

import pytest
from querytape.analyze import Report
from querytape.analyze.answer.causes import cause_of, failing_rules
from querytape.analyze.lint.rules import parse_version

from .planted import DIGESTS, planted


def test_each_line_is_whole(checkout: Path) -> None:
    """Number, cause and remedy; no number twice, in the order of the numbers; short enough to stand in a sentence."""
    lines = (checkout / "analyze" / "answer" / "causes.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    numbers = [int(row[0]) for row in rows]
    assert lines[0] == "errno\tcause\tremedy\tsettings"
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 100
    for _, cause, remedy, _ in rows:
        assert 3 < len(cause) <= 60, cause
        assert 10 < len(remedy) <= 120, remedy
        assert not remedy.endswith("."), remedy


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


def test_the_text_says_more_than_the_number(comparison: Report) -> None:
    """At a syntax error or a missing function, a reserved word or a removed function is named, not only the number."""
    rules = failing_rules(comparison)
    found = cause_of(1064, "SELECT rank FROM players", rules)
    assert (found.text, found.remedy) == ("RANK is a reserved word", "quote the name: `rank`")
    assert cause_of(1064, "select rank() over () from players", rules).text == "syntax that B does not have"
    function = cause_of(1305, "select password(?)", rules)
    assert function.text == "PASSWORD() does not exist"
    assert function.remedy.startswith("change passwords")
    assert cause_of(1205, "select rank from players", rules).text == "a lock wait that timed out"


def test_rules_are_of_the_way_from_a_to_b(tmp_path: Path) -> None:
    """Between equal versions nothing new is reserved; where B's version is unknown there are none."""
    for number, versions in enumerate((("8.0.42", "8.0.42"), ("8.0.42", "?"))):
        report = planted(tmp_path / str(number), versions)
        assert not [rule for rule in failing_rules(report) if rule.name == "reserved-word-rank"]
    assert str(parse_version("mysql-8.0"))
    assert DIGESTS["reserved"]
