# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape export` to a file and to standard output."""

from pathlib import Path

from click.testing import CliRunner
from querytape.cli.commands.export import export_command

from tests.helpers.tapes import make_tape


def test_export_to_a_file_and_to_stdout_gives_equal_bytes(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}", "duration_ns": 1000} for n in range(3)])
    out = tmp_path / "t.sql"
    written = CliRunner().invoke(export_command, [str(tape), "--format", "sql", "-o", str(out)])
    assert f"{out}: 3 entries" in written.stderr
    assert CliRunner().invoke(export_command, [str(tape), "--format", "sql"]).stdout_bytes == out.read_bytes()
    assert "SELECT 2" in out.read_text()
    again = CliRunner().invoke(export_command, [str(tape), "-o", str(out)])
    assert "already exists" in str(again.exception)
