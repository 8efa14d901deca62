# SPDX-License-Identifier: Apache-2.0
"""Writes docs/cli.md from the help of the commands. `make docs` runs this module.

A test checks that the page agrees with the help.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from querytape.cli.main import group
from querytape.cli.option_sections import ALL
from querytape.common.exit_codes import table_of_codes

HEAD = """# The command line

Made by `make docs` from the help of each command (`--help-all` where there is one): edit the commands, not this page.
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield (full name, command) for a command and all its subcommands."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            child = command.get_command(context, word)
            assert child is not None
            yield from commands(child, f"{name} {word}")


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, f"\n## Exit codes\n\n{table_of_codes()}\n"]
    for name, command in commands(group, "querytape"):
        # The settings that all commands inherit from `querytape`.
        given: dict[str, Any] = {"max_content_width": 80, "terminal_width": 80, "help_option_names": ["-h", "--help"]}
        context = click.Context(command, info_name=name, **given)
        context.meta[ALL] = True
        help_text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        parts.append(f"\n## {name}\n\n```\n{help_text}\n```\n")
    return "".join(parts)


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(page())
    else:
        Path(__file__).with_name("cli.md").write_text(page(), encoding="utf-8")
