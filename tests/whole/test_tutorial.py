# SPDX-License-Identifier: Apache-2.0
"""The tutorial: its commands run as they stand on the page, and print what the page shows."""

import subprocess
import sys
from pathlib import Path

import pytest
from querytape.docs import run_tutorial
from querytape.servers.programs import find_program, missing_sentence

from tests.conftest import skip_loudly

STEPS = 10  # commands on the page, at least


@pytest.mark.long
def test_the_tutorial_does_what_it_shows(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every command of the page succeeds, and each line that the page shows is printed."""
    if find_program("mariadb") is None:
        skip_loudly(request, missing_sentence("mariadb"))
    command = [sys.executable, run_tutorial.__file__, str(tmp_path / "t")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-3000:]
    assert done.stdout.count("\n$ querytape ") >= STEPS - 2, done.stdout
    assert [path.name for path in (tmp_path / "t").iterdir()] == [], "the page says that it cleans up"


def test_what_is_not_printed_is_found() -> None:
    """A page's line that a command doesn't print, or not in this order, is named; numbers, units and wrapping are not compared."""
    printed = "old.run: 2,685 events = 2,685 executed\n  took 10.0 s\nB has too little memory to\nsort; set it\n"
    same = ["...", "old.run: 17 events = 17 executed", "  took 350 ms", "B has too little memory to sort; set it", ""]
    assert run_tutorial.not_printed(same, printed) == []
    assert run_tutorial.not_printed(["took 1 s", "old.run: 1 events"], printed) == ["old.run: 1 events"]
    assert run_tutorial.not_printed(["old.run: 1 events = 1 skipped"], printed) == ["old.run: 1 events = 1 skipped"]
    assert run_tutorial.not_printed(["took 10.0 hours"], printed) == ["took 10.0 hours"]


def test_commands_are_read_as_they_stand() -> None:
    """Blocks of the kind console alone are run; a command may go over lines, and has the lines below it."""
    page = "```console\n$ one \\\n    two\nout\n$ three\n```\n```\n$ four\n```\n    $ five\n"
    found = [(step.line, step.command, step.shown) for step in run_tutorial.steps(page)]
    assert found == [(2, "one \\\n    two", ["out"]), (5, "three", [])]


def test_the_page_has_steps_and_pictures() -> None:
    """The page has its commands, and the lines that only a quiet machine prints are among what it shows."""
    page = run_tutorial.PAGE.read_text(encoding="utf-8")
    steps = list(run_tutorial.steps(page))
    assert len(steps) >= STEPS
    shown = {line for step in steps for line in step.shown}
    quiet = page.split("<!-- if quiet:\n")[1].split("\n-->")[0].splitlines()
    assert set(quiet) <= shown
    assert len(quiet) < len(shown) / 10
    for picture in run_tutorial.PICTURES.iterdir():
        assert f"pictures/{picture.name}" in page
