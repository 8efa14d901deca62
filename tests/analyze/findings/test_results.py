# SPDX-License-Identifier: Apache-2.0
"""Results that differ: their kinds have words, some have a reason."""

import re
from pathlib import Path

from querytape.analyze import Report, build
from querytape.analyze.findings.results import KINDS, unexplained

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_every_kind_has_words(checkout: Path) -> None:
    """The kinds that matched.sql names, and no others."""
    text = (checkout / "analyze" / "sql" / "matched.sql").read_text()
    assert set(re.findall(r"THEN '(\w+)'", text)) == set(KINDS)


def test_only_what_has_no_reason(small_report: Report) -> None:
    """The row that the small run changed is unexplained, one with a reason is not."""
    (row,) = unexplained(small_report)
    assert row["kind"] == "rows"
    known = Report(small_report.tape, [], [], answers={"results": [{**row, "known": "random"}]})
    assert list(unexplained(known)) == []


def test_a_command_without_a_statement_has_no_result(tmp_path: Path) -> None:
    """What a tape or a run counted for a ping is no difference, against the tape or between two runs."""
    ping = {"command": "ping", "rows_sent": 7, "errno": 0}
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "rows_sent": 1, "errno": 0}, ping])
    runs = [make_run(tmp_path / f"{n}.run", tape, [{"rows_sent": 1}, {"rows_sent": n}]) for n in range(2)]
    assert build(tape, runs[:1]).answers["results"] == []
    assert build(tape, runs[:1], runs[1:]).answers["results"] == []
