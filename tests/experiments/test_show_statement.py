# SPDX-License-Identifier: Apache-2.0
"""The choice of a single statement of a digest with its values, and the statement's outcome on each side."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.experiments.show_statement import show_statement

from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, make_tape

D1, D2 = "00000000000000a1", "00000000000000b2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a tape of five executions and two runs. Execution 4 fails only in B. Execution 2 fails in both runs, and
    execution 3 fails on the tape.
    """
    events = [
        {"statement": f"SELECT {n} FROM t", "digest": D1, "errno": 7 if n == 3 else 0, "duration_ns": n * MS}
        for n in range(1, 6)
    ]
    tape = make_tape(tmp_path / "t.tape", [*events, {"statement": "SELECT 'x'", "digest": D2, "errno": 0}])
    fails = {"errno": 1055, "error": "not in 'GROUP BY'"}
    make_run(tmp_path / "a.run", tape, [{}, fails, {}, {"rows_sent": 3}, {}, {}])
    make_run(tmp_path / "b.run", tape, [{}, fails, {}, fails, {}, {"status": "not_sent", "reason": "killed"}])
    return tmp_path


def test_newly_failed_execution_is_chosen_first(folder: Path) -> None:
    """New errors of B are preferred, then errors of both sides, then errors on the tape. Otherwise the longest
    execution is chosen.
    """
    tape, a, b = folder / "t.tape", [folder / "a.run"], [folder / "b.run"]
    new = show_statement(tape, {"a": a, "b": b}, D1[:15])
    assert new.event["text"] == "SELECT 4 FROM t"
    assert new.why == "failed only in B"
    assert new.outcomes == {"tape": (0, None, None), "a": (0, None, 3), "b": (1055, "not in 'GROUP BY'", None)}
    assert new.counts == {"executions": 5, "tape": 1, "a": 1, "b": 2}
    assert show_statement(tape, {"a": a}, D1).event["text"] == "SELECT 2 FROM t"
    assert show_statement(tape, {}, D1).event["text"] == "SELECT 3 FROM t"
    longest = show_statement(tape, {"a": a, "b": b}, D2)
    assert longest.why == "longest execution, because no execution failed"
    assert longest.outcomes == {"tape": (0, None, None), "a": (0, None, None)}


@pytest.mark.parametrize(
    ("digest", "said"), [("0", "2 digests begin with these digits"), ("f", "no digest"), ("x", "hexadecimal")]
)
def test_missing_or_ambiguous_digest_is_refused(folder: Path, digest: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        show_statement(folder / "t.tape", {}, digest)


def test_tape_without_error_numbers_has_unknown_failures(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1 FROM t", "digest": D1}])
    run = make_run(tmp_path / "a.run", tape, [{"errno": 1146, "error": "no such table"}])
    shown = show_statement(tape, {"a": [run]}, D1)
    assert shown.counts == {"executions": 1, "tape": None, "a": 1, "b": 0}
    assert shown.why == "failed in A"


def test_write_shows_the_rows_it_changed(tmp_path: Path) -> None:
    insert = {"statement": "INSERT INTO t VALUES (1), (2)", "digest": D1, "class": "write", "rows_affected": 2}
    tape = make_tape(tmp_path / "t.tape", [{**insert, "errno": 0, "rows_sent": 0}])
    run = make_run(tmp_path / "a.run", tape, [{"rows_sent": 0, "rows_affected": 2}])
    assert show_statement(tape, {"a": [run]}, D1).outcomes == {"tape": (0, None, 2), "a": (0, None, 2)}
