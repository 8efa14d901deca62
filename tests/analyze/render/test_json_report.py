# SPDX-License-Identifier: Apache-2.0
"""The report as JSON: what its schema says."""

import json
from pathlib import Path

import jsonschema
from querytape.analyze import Report, as_json, build


def test_the_json_schema(small_report: Report, small_paths: tuple[Path, Path, Path], checkout: Path) -> None:
    """Both kinds of report are what docs/report.schema.json says."""
    schema = json.loads((checkout / "docs" / "report.schema.json").read_text())
    for each in (small_report, build(small_paths[0], [small_paths[1]])):
        jsonschema.validate(json.loads(as_json(each)), schema)


def test_the_headline_and_the_findings_are_named(small_report: Report) -> None:
    """Answer and sentence, severity and text, run and text: no positions to remember."""
    shown = json.loads(as_json(small_report))
    assert set(shown["headline"]) == {"answer", "sentence"}
    assert {frozenset(finding) for finding in shown["trust"]} == {frozenset({"severity", "text"})}
    assert {frozenset(observation) for observation in shown["over_time"]} <= {frozenset({"run", "text"})}
    assert [run["path"].rsplit("/", 1)[1] for run in shown["runs"]] == ["a.run", "b.run"]
