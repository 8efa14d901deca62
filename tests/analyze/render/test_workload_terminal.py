# SPDX-License-Identifier: Apache-2.0
"""The workload on an 80-column terminal. The unparsed statements come first, then the first rows of each list."""

import json
from pathlib import Path

import pytest
from querytape.analyze import show_tape_summary, summarise_tape, tape_summary_json
from querytape.analyze.render.workload_sections import not_parsed
from querytape.analyze.render.workload_terminal import MAX_ROWS

from tests.analyze.workload.test_workload import buy, event
from tests.helpers.reports import printed
from tests.helpers.tapes import MS, SECOND, make_tape

pytestmark = pytest.mark.slow


def terminal_output(path: Path) -> str:
    return printed(show_tape_summary, summarise_tape(path), 3)


def test_every_section_shows_its_first_rows_in_80_columns(tmp_path: Path) -> None:
    events = [*buy(1, 1), *buy(2, 2, "ROLLBACK"), *buy(3, 3, ""), {"session": 3, "command": "quit"}]
    events += [event(4, "SELECT id FROM orders WHERE day = 1", rows_sent=3)] * 2
    events += [event(4, f"SELECT {'name, ' * 30} b FROM customer WHERE id = {n}") for n in range(12)]
    events += [
        event(5, text) for text in ("BEGIN", "DELETE FROM line WHERE o = 1", "DELETE FROM stock WHERE id = 1", "COMMIT")
    ]
    events += [event(6, f"SELECT a FROM t WHERE column_{n} = 1 AND [bold]") for n in range(2)]
    events += [event(n, "UPDATE stock SET a = 1 WHERE id = 77", lock_ns=n, start_ns=20 * SECOND) for n in (7, 8)]
    events += [event(9, "UPDATE stock SET a = 1 WHERE id = 77", lock_ns=5 * MS, start_ns=20 * SECOND)]
    text = terminal_output(make_tape(tmp_path / "t.tape", events))
    for title in (
        "Columns by",
        "Transactions by",
        "in both orders",
        "(N+1)",
        "Unfinished",
        "Uncommitted",
        "same result",
    ):
        assert title in text
    assert max(len(line) for line in text.splitlines()) <= 80
    columns = text[text.index("Columns by") : text.index("Transactions by")]
    assert columns.count("\n") == MAX_ROWS + 3
    assert "2 digests (2 events, 2.00ms) could not be parsed" in text[: text.index("Statement classes")].replace(
        "\n", " "
    )


def test_tape_without_columns_and_transactions_has_no_sections_for_them(tmp_path: Path) -> None:
    path = make_tape(tmp_path / "t.tape", [event(1, "SELECT 1")])
    assert "Columns by" not in terminal_output(path)
    assert not_parsed(summarise_tape(path).workload) is None


def test_literal_values_are_shown_only_on_request(tmp_path: Path) -> None:
    """Text and JSON contain the literals of hot rows only with --samples."""
    summary = summarise_tape(make_tape(tmp_path / "t.tape", [event(1, "UPDATE t SET a = 1 WHERE id = 4711")] * 2))
    for samples in (False, True):
        text = printed(show_tape_summary, summary, 3, samples)
        assert ("id = 4711" in text[text.index("Rows written") :]) == samples
        (row,) = json.loads(tape_summary_json(summary, 3, samples))["workload"]["hot_rows"]
        assert (row.get("value"), row["number"]) == ("4711" if samples else None, 1)
