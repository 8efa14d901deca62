# SPDX-License-Identifier: Apache-2.0
"""Reports of invalid plans folders. tests/experiments/test_plans.py tests the contents of a report with servers."""

import json
from pathlib import Path

import pytest
from querytape.analyze.build_report import join_plans
from querytape.analyze.plans_report import build_plans, check_tape
from querytape.common.duck import open_database, write_rows
from querytape.common.errors import FolderError, InputError
from querytape.schemas import PROPERTIES, columns, open_folder, tape_id

from tests.analyze.findings.planted import DIGESTS, planted
from tests.helpers.tapes import make_tape

DIGEST = f"{1:016x}"


def make_folder(path: Path, tape: Path, rows: list[tuple[object, ...]], **more: object) -> Path:
    path.mkdir()
    with open_database() as con:
        write_rows(con, columns("plans", "plans"), rows, path / "plans.parquet")
    info = {
        "format_version": 1,
        "finished": False,
        "tape": {"path": str(tape), "id": tape_id(open_folder("tape", tape).info)},
        "a": {"name": "old"},
        "b": {"name": "new"},
        **more,
    }
    (path / "plans.json").write_text(json.dumps(info))
    return path


def test_invalid_plans_are_ignored_and_foreign_folder_is_refused(tmp_path: Path) -> None:
    """Invalid sides, kinds and texts count as missing plans. A folder of another tape is refused."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "digest": DIGEST}])
    rows = [
        ("c", DIGEST, 1, "json", "{}", None),
        ("a", DIGEST, -7, "odd", "x", None),
        ("a", "nobody", 1, "json", "[", None),
    ]
    report = build_plans(make_folder(tmp_path / "p", tape, list(rows)))
    assert report.counts == {"inconclusive": 1}
    assert report.servers.problem is not None
    other = make_tape(tmp_path / "o.tape", [{"statement": "SELECT 2"}, {"statement": "SELECT 3"}])
    with pytest.raises(InputError, match="belong to another tape"):
        check_tape(open_folder("plans", tmp_path / "p"), open_folder("tape", other))
    with pytest.raises(FolderError, match="is not a plans"):
        build_plans(tape)


def test_server_error_is_shown_by_its_number(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "digest": DIGEST}])
    rows: list[tuple[object, ...]] = [
        ("a", DIGEST, 1, "json", "{}", None),
        ("b", DIGEST, 1, "json", None, "1292 Incorrect value: 'secret'"),
    ]
    report = build_plans(make_folder(tmp_path / "p", tape, rows))
    assert report.digests[0]["changes"] == ["EXPLAIN fails in B: error 1292"]


def test_report_with_plans_folder_asks_for_no_plans(tmp_path: Path) -> None:
    """A report without a plans folder shows the command that collects the plans."""
    report = planted(tmp_path)
    slower = [DIGESTS["slow"], DIGESTS["slower"]]
    report.written |= dict.fromkeys(slower, PROPERTIES["explainable"])
    rows: list[tuple[object, ...]] = [(side, digest, 1, "json", "{}", None) for side in "ab" for digest in slower]
    for some, number in ((rows[:0], "2 of 2"), (rows[:3], "1 of 2"), (rows, "")):
        join_plans(report, make_folder(tmp_path / f"{number or 'all'}.plans", report.tape.path, some))
        said = [finding.text for finding in report.trust if finding.text.startswith("Query plans are unknown")]
        assert [text[: len("Query plans are unknown for 2 of 2")] for text in said] == (
            [f"Query plans are unknown for {number}"] if number else []
        )
