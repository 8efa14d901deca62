# SPDX-License-Identifier: Apache-2.0
"""The data for the script of the HTML page."""

import json
from pathlib import Path

from querytape.analyze import Report, Settings, build
from querytape.analyze.render.page_data import MAX_FORMATTED, page_data, pretty

from tests.helpers.reports import D1
from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import make_tape


def test_each_digest_has_the_data_of_its_details(small_report: Report) -> None:
    """The page data contains the distributions and time series of both sides, and the errors of a failed digest."""
    digests = {row["id"]: row for row in json.loads(page_data(small_report))["digests"]}
    assert len(digests) == len(small_report.digests)
    first = digests[f"{0:016x}"]
    assert set(first["distribution"]) == set(first["over_time"]) == {"a", "b"}
    assert sum(n for _, n in first["distribution"]["a"]) == 20
    assert first["errors"][0]["after"] == 1205
    assert digests[f"{2:016x}"]["errors"] == []
    assert "sample" not in first


def test_samples_are_included_only_on_request_without_control_characters(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"x", "digest": D1, "class": "read", "flags": 0}])
    write_digests(tape, {D1: "select ?"}, {D1: b"SELECT\n'a\x1b\xff'"})
    report = build(tape, [make_run(tmp_path / "a.run", tape, [{}])], settings=Settings(samples=True))
    (digest,) = json.loads(page_data(report))["digests"]
    assert digest["sample"] == "SELECT\n'a \\xff'"


def test_short_and_very_long_statements_are_not_formatted() -> None:
    assert pretty("select a from t") == "select a from t"
    assert pretty(f"select a from {'t' * 60}") == f"SELECT a\nFROM {'t' * 60}"
    long = "select " + "x" * MAX_FORMATTED
    assert pretty(long) == long
