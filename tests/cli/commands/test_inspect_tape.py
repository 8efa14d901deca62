# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape inspect`: text of at most 80 columns, JSON, differences between tapes, and problems."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.inspect_tape import inspect_command
from querytape.common.errors import InputError, OptionError
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Make a tape of nine reads."""
    return make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}", "duration_ns": 1000} for n in range(9)])


def test_inspect_shows_the_number_of_events_as_text_and_json(tape: Path) -> None:
    text = CliRunner().invoke(inspect_command, [str(tape)])
    assert text.exception is None
    assert max(len(line) for line in text.stdout.splitlines()) <= 80
    assert json.loads(CliRunner().invoke(inspect_command, [str(tape), "--json"]).stdout)["counts"]["events"] == 9


def test_tape_compared_with_itself_has_no_differences(tape: Path) -> None:
    assert CliRunner().invoke(inspect_command, [str(tape), "--against", str(tape)]).exit_code == 0
    assert CliRunner().invoke(inspect_command, [str(tape), "--problems"]).stdout == ""


@pytest.mark.server
def test_source_option_lists_unused_indexes(mysql80: Server, tmp_path: Path) -> None:
    """The text and JSON output list the indexes that no statement of the tape can use. --source and --problems exclude
    each other.
    """
    mysql80.execute("CREATE DATABASE inspected")
    mysql80.execute("CREATE TABLE inspected.t (id INT PRIMARY KEY, a INT, b INT, KEY k_a (a), KEY k_b (b))")
    events = [{"statement": "SELECT id FROM t WHERE a = 1", "duration_ns": 1000, "user": "app", "db": "inspected"}]
    path = str(make_tape(tmp_path / "i.tape", events))
    text = CliRunner().invoke(inspect_command, [path, "--source", mysql80.url()])
    assert text.exception is None
    assert max(len(line) for line in text.stdout.splitlines()) <= 80
    assert "Unused indexes: 1 of 2" in text.stdout
    assert "inspected.t.k_b" in text.stdout
    found = json.loads(CliRunner().invoke(inspect_command, [path, "--source", mysql80.url(), "--json"]).stdout)[
        "indexes"
    ]
    assert [row["name"] for row in found["unused"]] == ["k_b"]
    with pytest.raises(InputError):
        CliRunner().invoke(inspect_command, [path, "--source", mysql80.url(), "--problems"], catch_exceptions=False)


def test_html_page_is_private(tape: Path, tmp_path: Path) -> None:
    """--html can be combined with --json, but not with --problems. The output contains the path of the page."""
    page = tmp_path / "t.html"
    done = CliRunner().invoke(inspect_command, [str(tape), "--html", str(page)])
    assert done.exit_code == 0
    assert f"HTML page: {page}" in done.stdout
    assert page.stat().st_mode & 0o777 == 0o600
    assert "9 events" in page.read_text(encoding="utf-8")
    done = CliRunner().invoke(inspect_command, [str(tape), "--json", "--html", str(page)])
    assert json.loads(done.stdout)["counts"]["events"] == 9
    for other in ("--problems", "--facts"):
        with pytest.raises(OptionError):
            CliRunner().invoke(inspect_command, [str(tape), other, "--html", str(page)], catch_exceptions=False)
