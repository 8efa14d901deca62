# SPDX-License-Identifier: Apache-2.0
"""Tests of the help. Every command has a help text with an example, and `docs/cli.md` equals the help."""

import runpy
import subprocess
import sys
from pathlib import Path

import click
import pytest
from querytape.cli.main import group

MAKER = runpy.run_path(str(Path(__file__).resolve().parents[2] / "docs" / "make_cli.py"))
COMMANDS: list[tuple[str, click.Command]] = list(MAKER["commands"](group, "querytape"))


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_has_help_and_an_example(name: str, command: click.Command) -> None:
    """Every option also has a help text."""
    assert command.help
    without = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert not without
    if not isinstance(command, click.Group) or name == "querytape":
        assert f"\n  {name}" in (command.epilog or "")


def test_help_lines_fit_80_columns() -> None:
    assert not [line for line in MAKER["page"]().splitlines() if len(line) > 80 and "`" not in line and line[:1] != "|"]


@pytest.mark.slow
def test_docs_cli_md_is_up_to_date(checkout: Path) -> None:
    # The script runs in a new process, because click caches the help of commands that other tests have used.
    command = [sys.executable, str(checkout / "docs" / "make_cli.py"), "--print"]
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (checkout / "docs" / "cli.md").read_text(encoding="utf-8") == page, "run make docs"
