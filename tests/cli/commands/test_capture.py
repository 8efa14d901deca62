# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape capture`: one command for each source kind, and detection of the kind from the file."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from querytape.capture import SOURCES
from querytape.cli.commands.capture import capture_group

LOG = """\
# User@Host: app[app] @ web [10.0.0.5]  Id:     5
# Query_time: 0.002000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
SET timestamp=1795176000;
SELECT 1;
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write a slow log with one event."""
    path = tmp_path / "slow.log"
    path.write_text(LOG, encoding="utf-8")
    return path


def test_every_source_kind_has_a_command_with_its_options() -> None:
    context = click.Context(capture_group)
    assert set(capture_group.list_commands(context)) == {*SOURCES, "server", "rds"}
    for name in SOURCES:
        command = capture_group.get_command(context, name)
        assert command is not None
        options = {str(param.name) for param in command.params}
        assert {"files", "output", "source", "ask_password", "show", "strict"} <= options
        assert {option.name.replace("-", "_") for option in SOURCES[name].options} <= options


@pytest.mark.parametrize("kind", [["slowlog"], []])
def test_file_is_captured_by_named_or_detected_kind(log: Path, tmp_path: Path, kind: list[str]) -> None:
    found = CliRunner().invoke(capture_group, [*kind, str(log), "-o", str(tmp_path / "t.tape")], standalone_mode=False)
    assert found.exception is None
    assert found.return_value == 0
    assert f"{tmp_path / 't.tape'}: 1 event, 1 session, 1 digest, 0 problems" in found.stdout
    assert ("slow.log: a slow log (capture slowlog)" in found.stderr) == (not kind)


def test_strict_option_exits_with_1_on_unparsed_lines(log: Path, tmp_path: Path) -> None:
    log.write_text("what is this\n" + LOG + "# Query_time: soon\nSELECT 2;\n" + LOG, encoding="utf-8")
    arguments = ["slowlog", str(log), "-o", str(tmp_path / "t.tape"), "--strict", "--problems"]
    found = CliRunner().invoke(capture_group, arguments, standalone_mode=False)
    assert found.return_value == 1
    assert f"{log}, line " in found.stdout


def test_skipped_rows_are_counted_and_give_exit_code_4(log: Path, tmp_path: Path) -> None:
    row = "20240610 06:13:20,db1,app,localhost,7,1,QUERY,shop,'SELECT 1',0\n"
    log.write_text(row + "what is this\n" + row, encoding="utf-8")
    arguments = ["audit", str(log), "-o", str(tmp_path / "t.tape")]
    found = CliRunner().invoke(capture_group, arguments, standalone_mode=False)
    assert found.return_value == 4
    said = "  NOT ALL OF THE INPUT IS ON THE TAPE: 1 part of the input could not be parsed; 13 bytes were skipped"
    assert found.stdout.splitlines()[1] == said


def test_unreadable_values_are_counted_and_give_exit_code_4(tmp_path: Path) -> None:
    """For unreadable values, the output lists the number per column and the first location."""
    path = tmp_path / "a.csv"
    path.write_text("ts,q,took\n1,SELECT 1,2\n2,SELECT 2,fast\n3,SELECT 3,slow\n")
    columns = [f"--column={text}" for text in ("time=ts", "statement=q", "duration=took")]
    arguments = ["csv", str(path), "-o", str(tmp_path / "t.tape"), *columns]
    found = CliRunner().invoke(capture_group, arguments, standalone_mode=False)
    assert found.return_value == 4
    lines = found.stdout.splitlines()
    assert lines[1] == "  NOT ALL OF THE INPUT IS ON THE TAPE: 2 values of duration could not be read"
    expected = "expected a duration (a number or HH:MM:SS.ffffff) in column took"
    assert lines[2] == f'    first: {path}, line 3: unread_duration: {expected}, found "fast"'


@pytest.mark.slow
def test_input_names_may_be_invalid_utf8_but_tape_names_may_not(log: Path, tmp_path: Path) -> None:
    odd = tmp_path / "slow\udcff.log"
    odd.write_text(LOG, encoding="utf-8")
    for kind in ([], ["slowlog"]):
        out = tmp_path / f"t{len(kind)}.tape"
        found = CliRunner().invoke(capture_group, [*kind, str(odd), "-o", str(out)], standalone_mode=False)
        assert found.return_value == 0, found.exception
    refused = CliRunner().invoke(capture_group, ["slowlog", str(log), "-o", str(tmp_path / "t\udcfe")])
    assert "the path is not valid UTF-8: choose another path with -o" in str(refused.exception)
    assert not (tmp_path / "t\udcfe").exists()
    rows = tmp_path / "rows\udcfd.csv"
    rows.write_text("ts,q\n1,SELECT 1\n", encoding="utf-8")
    arguments = ["csv", str(rows), "-o", str(tmp_path / "c.tape"), "--column", "time=ts", "--column", "statement=q"]
    assert CliRunner().invoke(capture_group, arguments, standalone_mode=False).return_value == 0


def test_word_that_is_neither_kind_nor_file_is_an_unknown_command() -> None:
    found = CliRunner().invoke(capture_group, ["tarot", "-o", "x"])
    assert found.exit_code == 2
    assert "No such command 'tarot'" in found.stderr
