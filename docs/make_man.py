# SPDX-License-Identifier: Apache-2.0
"""Writes docs/man/*.1 from the help of the commands. `make docs` runs this module.

A test checks that the man pages agree with the help. The wheel installs the man pages.

There is one page for `querytape` and one page for each command, including its subcommands (`capture slowlog`). Click
writes its help through a formatter. The formatter of this file writes man macros. Texts and order are those of
--help-all.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from querytape.cli.main import group
from querytape.cli.option_sections import ALL
from querytape.docs.make_cli import commands

PAGES = Path(__file__).resolve().parent / "man"
GIVEN: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def plain(text: str) -> str:
    """Return a text escaped for roff, so that roff prints each line literally."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    )
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in text.replace("~", "\\(ti").splitlines())


class ManFormatter(click.HelpFormatter):
    """Writes click's help as a part of a man page. `heading` is the macro for the sections of a command."""

    def __init__(self, heading: str) -> None:
        super().__init__()
        self.heading = heading

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the synopsis."""
        if self.heading == ".SH":
            self.write(".SH SYNOPSIS\n")
        self.write(f".B {plain(prog)}\n{plain(args)}\n")
        if self.heading == ".SH":
            self.write(".SH DESCRIPTION\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs. Text that click must not wrap (marked by backspace) keeps its line breaks."""
        for part in text.replace("\b\n", "\n\b").split("\n\n"):
            lines = part.strip("\n")
            if "\b" in lines:
                title, *examples = lines.replace("\b", "").strip("\n").splitlines()
                self.write(f"{self.heading} {plain(title.rstrip(':'))}\n.nf\n{plain(chr(10).join(examples))}\n.fi\n")
            elif lines.strip():
                self.write(f".PP\n{plain(' '.join(lines.split()))}\n")

    def write_paragraph(self) -> None:
        """Write nothing, because each paragraph begins with its own macro."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write the options or commands with their descriptions."""
        for term, text in rows:
            self.write(f".TP\n.B {plain(term)}\n{plain(' '.join(text.split())) or chr(92) + '&'}\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write the heading of a section before the block."""
        self.write(f"{self.heading} {plain(name)}\n")
        yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        """Do nothing, because the macros indent."""
        yield


def part(name: str, command: click.Command, heading: str) -> str:
    """Return the help of a command as a part of a man page."""
    formatter = ManFormatter(heading)
    context = click.Context(command, info_name=name, **GIVEN)
    context.meta[ALL] = True
    command.format_help(context, formatter)
    return formatter.getvalue()


def page(name: str, command: click.Command, short: str) -> str:
    """Return the page of a command and all its subcommands."""
    hyphened = name.replace(" ", "-")
    head = f'.TH {plain(hyphened.upper())} 1 "" querytape "querytape\\(aqs commands"\n.nh\n.ad l\n'
    text = f"{head}.SH NAME\n{plain(hyphened)} \\- {plain(short.rstrip('.'))}\n" + part(name, command, ".SH")
    if name != "querytape":
        for full, below in list(commands(command, name))[1:]:
            text += f".SH {plain(full.upper())}\n" + part(full, below, ".SS")
    others = "querytape" if name != "querytape" else "querytape-COMMAND"
    return f"{text}.SH SEE ALSO\n.BR {plain(others)} (1)\n"


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    context = click.Context(group)
    found = {
        "querytape.1": page(
            "querytape", group, "record MySQL traffic, replay it against other servers, and compare the results"
        )
    }
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        found[f"querytape-{word}.1"] = page(f"querytape {word}", command, command.get_short_help_str(200))
    return found


if __name__ == "__main__":
    made = pages()
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*.1"):
        if old.name not in made:
            old.unlink()
    for file, content in made.items():
        (PAGES / file).write_text(content, encoding="utf-8")
    sys.stdout.write(f"{len(made)} man pages\n")
