# SPDX-License-Identifier: Apache-2.0
"""Reports and tape summaries as JSON, and the JSON schema of reports."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from querytape.analyze import (
    Report,
    as_json,
    build,
    compare_tapes,
    summarise_tape,
    tape_difference_json,
    tape_summary_json,
)
from querytape.analyze.model import Finding, Observation, Severity
from querytape.analyze.render.json_report import as_dict

pytestmark = pytest.mark.slow


def test_json_report_matches_its_schema(
    small_report: Report, small_paths: tuple[Path, Path, Path], checkout: Path
) -> None:
    """Reports of one run and of two runs match docs/report.schema.json."""
    schema = json.loads((checkout / "docs" / "report.schema.json").read_text())
    for each in (small_report, build(small_paths[0], [small_paths[1]])):
        jsonschema.validate(json.loads(as_json(each)), schema)


def test_headline_and_findings_are_json_objects_with_named_keys(small_report: Report) -> None:
    shown = json.loads(as_json(small_report))
    assert set(shown["headline"]) == {"answer", "sentence", "notes"}
    assert {frozenset(finding) for finding in shown["trust"]} == {frozenset({"severity", "text"})}
    assert {frozenset(observation) for observation in shown["over_time"]} <= {frozenset({"run", "text"})}
    assert [run["path"].rsplit("/", 1)[1] for run in shown["runs"]] == ["a.run", "b.run"]


def test_json_texts_write_the_unit_microseconds_as_us(report: Report) -> None:
    """Terminal and page show 50.0µs, and JSON shows 50.0us in each text. Statement texts are unchanged."""
    said = "differs by 50.0µs"
    first, *others = report.digests
    changed = replace(
        report,
        digests=[{**first, "why": said, "note": said, "text": "select 5µs"}, *others],
        trust=[Finding(Severity.WARNING, said)],
        over_time=[Observation("a", said)],
    )
    made = as_dict(changed)
    read = "differs by 50.0us"
    assert (made["digests"][0]["why"], made["digests"][0]["note"]) == (read, read)
    assert (made["trust"][0]["text"], made["over_time"][0]["text"]) == (read, read)
    assert made["digests"][0]["text"] == "select 5µs"
    assert "µ" not in json.dumps({**made, "digests": []}, ensure_ascii=False)


def test_long_lists_of_a_tape_are_shortened(small_paths: tuple[Path, Path, Path]) -> None:
    """The JSON of a tape contains the keys of tape.json and of each analysis. Only lists that grow with the tape are
    shortened.
    """
    shown = json.loads(tape_summary_json(summarise_tape(small_paths[0]), 1))
    assert shown["path"] == str(small_paths[0])
    assert shown["measuring_point"] == "server"
    assert (len(shown["digests"]), len(shown["accounts"]), len(shown["classes"])) == (1, 1, 3)


def test_json_of_two_tapes(small_paths: tuple[Path, Path, Path]) -> None:
    """The JSON of two compared tapes contains both paths, both totals and the digests."""
    shown = json.loads(tape_difference_json(compare_tapes(small_paths[0], small_paths[0]), 2))
    assert shown["tapes"] == [str(small_paths[0])] * 2
    assert (len(shown["totals"]), len(shown["digests"])) == (2, 2)
