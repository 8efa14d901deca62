# SPDX-License-Identifier: Apache-2.0
"""Tests of the man pages. They are generated from the commands' help, are up to date, and pass groff without a warning."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from querytape.cli.main import group
from querytape.docs import make_man
from querytape.docs.make_cli import commands

from tests.conftest import skip_loudly

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.slow
def test_man_pages_are_up_to_date() -> None:
    """The pages are generated in a new process, because other tests change click's state."""
    kept = {page.name: page.read_text(encoding="utf-8") for page in (DOCS / "man").iterdir()}
    program = "import json; from querytape.docs import make_man; print(json.dumps(make_man.pages()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    assert sorted(kept) == sorted(made), "run make docs"
    assert [name for name in made if kept[name] != made[name]] == [], "run make docs"


def words_of_help(name: str) -> set[str]:
    """Return the words in the help of a command and its subcommands."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    helps = (
        each.get_help(
            click.Context(each, info_name=full, max_content_width=1000, terminal_width=1000, **make_man.GIVEN)
        )
        for full, each in commands(command, f"querytape {name}")
    )
    return {
        word for text in helps for word in text.split() if word not in {"Usage:", "Examples:", "Example:", "Options:"}
    }


@pytest.mark.parametrize("name", group.list_commands(click.Context(group)))
def test_man_page_contains_every_word_of_help(request: pytest.FixtureRequest, name: str) -> None:
    """groff must also format each page without a warning."""
    groff = shutil.which("groff")
    if groff is None:
        skip_loudly(request, "no groff: man pages are not formatted (apt-get install groff-base)")
        return
    page = DOCS / "man" / f"querytape-{name}.1"
    command = [groff, "-man", "-ww", "-Tutf8", "-Kutf8", "-P-cbou", "-rLL=900n", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert {word.rstrip(":") for word in words_of_help(name)} - {
        word.rstrip(":") for word in done.stdout.split()
    } == set()


def test_special_characters_of_roff_stay_literal() -> None:
    """The text contains backslashes, hyphens, quotes and lines that start with a dot."""
    text = "--a 'b' `c` ~d ^e \\f\n.g\n..."
    page = f".TH T 1\n.SH A\n.nf\n{make_man.plain(text)}\n.fi\n"
    assert re.search(r"^\\&\.g$", page, re.M)
    groff = shutil.which("groff")
    if groff is not None:
        command = [groff, "-man", "-Tutf8", "-P-cbou"]
        done = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
        assert [word for word in done.stdout.split() if word in text.split()] == text.split()
