# SPDX-License-Identifier: Apache-2.0
"""The summary of a tape, and the differences between two tapes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.analyze import compare_tapes, summarise_tape
from querytape.analyze.database import INSPECT
from querytape.analyze.tape_rows import TapeTransactionsRow
from querytape.cli.commands.inspect_tape import inspect_command
from querytape.common.errors import FolderError

from tests.helpers.simulated import Workload, simulate_tape
from tests.helpers.tapes import MS, make_tape

pytestmark = pytest.mark.slow


def test_new_and_gone_statements_of_two_tapes(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """The comparison of two tapes lists new and gone statements by statements per hour."""
    other = simulate_tape(tmp_path / "o.tape", Workload(digests=4, repeats=200))
    found = CliRunner().invoke(inspect_command, [str(other), "--against", str(runs[0]), "--json"])
    changed = json.loads(found.output)
    assert len(changed["digests"]) == 8
    assert sorted(row["events_b"] for row in changed["digests"]) == [0, 0, 0, 0, 200, 200, 200, 200]
    shown = CliRunner().invoke(inspect_command, [str(other), "--against", str(runs[0])])
    assert "Only on B: 0 digests. Only on A: 4 digests." in shown.output


def test_every_tape_analysis_has_a_row(small_paths: tuple[Path, Path, Path]) -> None:
    answers = summarise_tape(small_paths[0]).answers
    assert list(answers) == list(INSPECT)
    assert all(answers.values())
    with pytest.raises(FolderError):
        summarise_tape(small_paths[1])


def test_tape_compared_with_itself_has_no_differences(small_paths: tuple[Path, Path, Path]) -> None:
    changed = compare_tapes(small_paths[0], small_paths[0])
    assert changed.totals[0] == changed.totals[1]
    assert all(row["per_hour_a"] == row["per_hour_b"] for row in changed.digests)


def transactions(path: Path, *texts: str | dict[str, Any]) -> TapeTransactionsRow:
    """Return the transaction statistics of one session. Each statement takes 1 ms and is followed by a pause of 1 ms."""
    words = {"SET": "session", "INSERT": "write", "UPDATE": "write", "SELECT": "read", "CREATE": "ddl"}
    events = [
        text
        if isinstance(text, dict)
        else {"statement": text, "class": words.get(text.split()[0], "transaction"), "duration_ns": MS}
        for text in texts
    ]
    return summarise_tape(make_tape(path, events)).answers["transactions"][0]


OFF, WRITE, READ = "SET autocommit = 0", "INSERT INTO t VALUES (1)", "SELECT a FROM t"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("texts", "found", "undone", "reading", "most"),
    [
        (("BEGIN", READ, WRITE, "COMMIT", READ), 1, 0, 0, 2),
        ((WRITE, READ, "COMMIT"), 0, 0, 0, None),
        ((OFF, READ, WRITE, "COMMIT", WRITE, "ROLLBACK"), 2, 1, 0, 2),
        ((OFF, READ, "COMMIT", "COMMIT", "ROLLBACK"), 1, 0, 1, 1),
        ((OFF, WRITE, "SET autocommit = 1", WRITE, "COMMIT"), 1, 0, 0, 1),
        ((OFF, WRITE, "CREATE TABLE x (a INT)", "COMMIT"), 1, 0, 0, 1),
        ((OFF, "SET NAMES utf8mb4", {"command": "ping"}, WRITE, "COMMIT"), 1, 0, 0, 1),
        ((OFF, {"command": "reset_connection"}, WRITE, "COMMIT"), 0, 0, 0, None),
        ((OFF, WRITE), 0, 0, 0, None),
        (("BEGIN", WRITE, "COMMIT AND CHAIN", WRITE, WRITE, "COMMIT"), 2, 0, 0, 2),
        ((OFF, "BEGIN", WRITE, "COMMIT", WRITE, "COMMIT"), 2, 0, 0, 1),
        (("BEGIN", {"command": "prepare", "statement": READ}, {"command": "execute", "statement": READ}, "COMMIT"),
         1, 0, 1, 1),
    ],
)  # fmt: skip
def test_completed_transactions_are_counted(
    texts: tuple[Any, ...], found: int, undone: int, reading: int, most: int | None, tmp_path: Path
) -> None:
    """A transaction starts with BEGIN, or with a statement while autocommit is off. Open transactions are not counted."""
    row = transactions(tmp_path / "t.tape", *texts)
    assert (row["transactions"], row["rolled_back"], row["only_reading"]) == (found, undone, reading)
    assert row["most_statements"] == most


def test_transaction_without_begin_starts_with_its_first_read_or_write(tmp_path: Path) -> None:
    row = transactions(tmp_path / "t.tape", OFF, "SET NAMES utf8mb4", READ, WRITE, "COMMIT")
    assert row["longest_ns"] == 3 * MS
