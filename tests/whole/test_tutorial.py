# SPDX-License-Identifier: Apache-2.0
"""Tests of the tutorial. Its commands run as written on the page, and print the lines that the page shows."""

import subprocess
import sys
from pathlib import Path

import pytest
from querytape.docs import run_tutorial
from querytape.servers.programs import find_program, missing_sentence

from tests.conftest import skip_loudly

STEPS = 10  # minimum number of commands on the page


@pytest.mark.long
def test_tutorial_commands_print_the_lines_on_the_page(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if find_program("mariadb") is None:
        skip_loudly(request, missing_sentence("mariadb"))
    command = [sys.executable, run_tutorial.__file__, str(tmp_path / "t")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-3000:]
    assert done.stdout.count("\n$ querytape ") >= STEPS - 2, done.stdout
    assert [path.name for path in (tmp_path / "t").iterdir()] == [], "the page says that it cleans up"


def test_missing_or_misplaced_line_of_the_tutorial_is_found() -> None:
    """The comparison ignores numbers, units and line wrapping."""
    printed = "old.run: 2,685 events = 2,685 executed\n  took 10.0 s\nB has too little memory to\nsort; set it\n"
    same = ["...", "old.run: 17 events = 17 executed", "  took 350 ms", "B has too little memory to sort; set it", ""]
    assert run_tutorial.not_printed(same, printed) == []
    assert run_tutorial.not_printed(["took 1 s", "old.run: 1 events"], printed) == ["old.run: 1 events"]
    assert run_tutorial.not_printed(["old.run: 1 events = 1 skipped"], printed) == ["old.run: 1 events = 1 skipped"]
    assert run_tutorial.not_printed(["took 10.0 hours"], printed) == ["took 10.0 hours"]


def test_tutorial_commands_are_read_from_console_blocks() -> None:
    """A command may have several lines. The lines after it are its expected output."""
    page = "```console\n$ one \\\n    two\nout\n$ three\n```\n```\n$ four\n```\n    $ five\n"
    found = [(step.line, step.command, step.shown) for step in run_tutorial.steps(page)]
    assert found == [(2, "one \\\n    two", ["out"]), (5, "three", [])]


def test_tutorial_has_enough_commands_and_all_pictures() -> None:
    """Lines that only an idle machine prints are marked on the page."""
    page = run_tutorial.PAGE.read_text(encoding="utf-8")
    steps = list(run_tutorial.steps(page))
    assert len(steps) >= STEPS
    shown = {line for step in steps for line in step.shown}
    quiet = page.split("<!-- if quiet:\n")[1].split("\n-->")[0].splitlines()
    assert set(quiet) <= shown
    assert len(quiet) < len(shown) / 10
    for picture in run_tutorial.PICTURES.iterdir():
        assert f"pictures/{picture.name}" in page
