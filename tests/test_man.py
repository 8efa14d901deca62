# SPDX-License-Identifier: Apache-2.0
"""The man pages: made of the commands' help, up to date, and read by man without a complaint."""

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
def test_the_pages_are_up_to_date() -> None:
    """docs/man has what the commands' help makes, each page and no other; in a process that has run nothing else."""
    kept = {page.name: page.read_text(encoding="utf-8") for page in (DOCS / "man").iterdir()}
    program = "import json; from querytape.docs import make_man; print(json.dumps(make_man.pages()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    assert sorted(kept) == sorted(made), "run make docs"
    assert [name for name in made if kept[name] != made[name]] == [], "run make docs"


def words_of_help(name: str) -> set[str]:
    """Return the words of the help of a command and all below it."""
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
def test_man_shows_what_help_says(request: pytest.FixtureRequest, name: str) -> None:
    """Formatted by groff, without a warning, a page has every word that --help has."""
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


def test_what_roff_would_take_is_literal() -> None:
    """Backslashes, hyphens, quotes and lines that begin with a dot come out as they went in."""
    text = "--a 'b' `c` ~d ^e \\f\n.g\n..."
    page = f".TH T 1\n.SH A\n.nf\n{make_man.plain(text)}\n.fi\n"
    assert re.search(r"^\\&\.g$", page, re.M)
    groff = shutil.which("groff")
    if groff is not None:
        command = [groff, "-man", "-Tutf8", "-P-cbou"]
        done = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
        assert [word for word in done.stdout.split() if word in text.split()] == text.split()
