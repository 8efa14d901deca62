# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape sql`: rows, CSV, JSON and error messages."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.sql import sql_command
from querytape.common.errors import FolderError, InputError

from tests.helpers.reports import small_runs
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


def test_tables_of_runs_and_tapes_are_printed_as_rows_csv_or_json(tmp_path: Path) -> None:
    runs = small_runs(tmp_path)
    count = "SELECT count(*) AS n FROM outcomes JOIN tape_events USING (session, seq)"
    for shape, wanted in (("csv", "n\n60\n"), ("json", '{"n": 60}\n')):
        found = CliRunner().invoke(sql_command, [str(runs[1]), "--format", shape, "-c", count])
        assert found.output == wanted
    assert "60" in CliRunner().invoke(sql_command, [str(runs[1]), "-c", count]).output
    assert (
        CliRunner()
        .invoke(sql_command, [str(runs[0]), "--format", "csv", "-c", "SELECT count(*) AS n FROM digests"])
        .output
        == "n\n3\n"
    )
    failed = CliRunner().invoke(sql_command, [str(runs[1]), "-c", "FROM nowhere"])
    assert isinstance(failed.exception, InputError)


def test_refused_statements_and_missing_folders_give_plain_errors(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "e.tape", [{"statement": "SELECT 1"}])
    assert isinstance(CliRunner().invoke(sql_command, [str(tape), "-c", "SELEKT"]).exception, InputError)
    assert isinstance(CliRunner().invoke(sql_command, [str(tmp_path / "x"), "-c", "SELECT 1"]).exception, FolderError)


def test_sql_views_show_statement_texts_with_values(tmp_path: Path) -> None:
    """The view `failed` of a run contains the texts of failed statements. The view `event_texts` of a tape contains the
    text of each statement.
    """
    tape, _, b = small_runs(tmp_path)
    wanted = "SELECT errno, text FROM failed"
    found = CliRunner().invoke(sql_command, [str(b), "--format", "json", "-c", wanted])
    assert found.output == '{"errno": 1205, "text": "SELECT a FROM t WHERE id = 1"}\n'
    count = "SELECT count(*) AS n FROM event_texts WHERE text LIKE 'UPDATE%'"
    assert CliRunner().invoke(sql_command, [str(tape), "--format", "csv", "-c", count]).output == "n\n20\n"
