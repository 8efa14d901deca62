# SPDX-License-Identifier: Apache-2.0
"""The output of `querytape lint`."""

import json
from pathlib import Path

import pytest
from querytape.analyze import lint_json, lint_tape, show_lint
from querytape.analyze.lint.rules import parse_version

from tests.helpers.reports import printed
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def terminal_output(tape: Path, target: str, source: str | None = None) -> str:
    """Return the output for an 80-column terminal."""
    result = lint_tape(tape, parse_version(target), parse_version(source) if source else None)
    assert json.loads(lint_json(result))["counts"]["fails"] == result.count("fails")
    return printed(show_lint, result, 2)


def test_answer_comes_first(tmp_path: Path) -> None:
    """The order of the output is: question, answer, rules with their statements. Statements beyond the limit are
    counted.
    """
    rows = [
        {"statement": f"SELECT [b]rank FROM t{n}", "digest": f"{n:016x}", "duration_ns": 1000 * n} for n in range(1, 5)
    ]
    text = terminal_output(make_tape(tmp_path / "l.tape", rows), "mysql-8.0", "mysql-5.7")
    question = "May this traffic move from mysql-5.7 to mysql-8.0?\n"
    assert text.startswith(question + "No: 4 digests will fail on mysql-8.0.\n")
    assert "reserved-word-rank  4 digests, 4 statements, 100.0% of the time" in text
    assert text.index("0000000000000004") < text.index("0000000000000003")
    assert "... 2 more (use --json)" in text
    assert max(map(len, text.splitlines())) <= 80


def test_report_without_findings_states_the_limits_of_rules(tmp_path: Path) -> None:
    text = terminal_output(make_tape(tmp_path / "l.tape", [{"statement": "SELECT 1"}]), "mysql-8.0", "mysql-5.7")
    assert "No rule matches this traffic. Replay the tape to be sure." in text
    assert "no durations" in text


def test_unknown_failures_are_not_called_successful(tmp_path: Path) -> None:
    """A log without error numbers does not show which statements succeeded. The numbers can be missing for all
    statements or for some.
    """
    rows: list[dict[str, object]] = [{"statement": "SELECT 1", "errno": 0} for _ in range(3)]
    assert "3 statements that succeeded;" in terminal_output(
        make_tape(tmp_path / "known.tape", rows), "mysql-8.0", "mysql-5.7"
    )
    for unknown, said in (
        (3, "does not record whether the statements failed"),
        (2, "does not record whether 2 statements failed"),
    ):
        for row in rows[:unknown]:
            row["errno"] = None
        for row in rows[unknown:]:
            row["errno"] = 0
        text = terminal_output(make_tape(tmp_path / f"{unknown}.tape", rows), "mysql-8.0", "mysql-5.7")
        assert "1 digest, 3 statements;" in text
        assert "succeeded" not in text
        assert said in " ".join(text.split())


def test_lines_of_a_long_advice_are_aligned(tmp_path: Path) -> None:
    rows = [{"statement": "SET NAMES utf8mb4", "digest": "00000000000000aa"}]
    lines = terminal_output(make_tape(tmp_path / "l.tape", rows), "mysql-8.0", "mysql-5.7").splitlines()
    first = next(number for number, line in enumerate(lines) if "The default collation of MySQL 8.0" in line)
    assert lines[first + 1].startswith("    ")
    assert lines[first + 2].startswith("    ")
    assert max(map(len, lines)) <= 80


def test_unknown_version_gives_a_cautious_answer(tmp_path: Path) -> None:
    """The rules may not cover the source or the target version. The lint report still lists its findings."""
    tape = make_tape(tmp_path / "l.tape", [{"statement": "SELECT rank FROM t"}])
    text = " ".join(terminal_output(tape, "mysql-26.7", "mysql-8.0").split())
    assert "Inconclusive: the rules cover versions up to mysql-9.7. Replay the tape to find out." in text
    assert "The rules cover versions up to mysql-9.7. Changes between mysql-9.7 and mysql-26.7 are not checked." in text
    assert "1 digest will fail on " in terminal_output(tape, "mysql-26.7", "mysql-5.7")
    text = " ".join(terminal_output(tape, "mariadb-11.8", "mysql-26.10").split())
    assert "Changes between mysql-9.7 and mysql-26.10 are not checked" in text
    assert "Inconclusive" not in text
