# SPDX-License-Identifier: Apache-2.0
"""Sections of options: each has its title in the help."""

import click
from click.testing import CliRunner
from querytape.cli.option_sections import Section, SectionedCommand, option

FIRST = Section("First", (option("--one", help="Option one."),))
SECOND = Section("Second things", (option("--two", help="Option two."), option("--three", help="Option three.")))


@click.command("c", cls=SectionedCommand)
@FIRST.add
@SECOND.add
def command(one: str | None, two: str | None, three: str | None) -> None:
    """Do it."""
    click.echo(f"{one} {two} {three}")


def test_titles_are_in_the_order_of_the_decorators() -> None:
    """Each title is followed by its options; the help option comes last, under a title of its own."""
    lines = [
        line.split("  ")[0].strip() or line.strip()
        for line in CliRunner().invoke(command, ["--help"]).output.splitlines()
    ]
    shown = [line for line in lines if line.endswith(":") or "Option" in line]
    assert [line for line in shown if line.endswith(":")] == ["First:", "Second things:", "Options:"]


def test_values_arrive() -> None:
    """Options of a section are ordinary options."""
    assert CliRunner().invoke(command, ["--one", "1", "--three", "3"]).output == "1 None 3\n"
