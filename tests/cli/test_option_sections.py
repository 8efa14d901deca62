# SPDX-License-Identifier: Apache-2.0
"""Tests of option sections: each section has a title in the help."""

import click
import pytest
from click.testing import CliRunner
from querytape.cli.main import group
from querytape.cli.option_sections import Section, SectionedCommand, option

FIRST = Section("First", (option("--one", help="Option one."),))
SECOND = Section("Second things", (option("--two", help="Option two."), option("--three", help="Option three.")))


@click.command("c", cls=SectionedCommand)
@FIRST.add
@SECOND.add
def command(one: str | None, two: str | None, three: str | None) -> None:
    click.echo(f"{one} {two} {three}")


def test_section_titles_follow_the_order_of_decorators() -> None:
    """The help option comes last and has its own title."""
    lines = [
        line.split("  ")[0].strip() or line.strip()
        for line in CliRunner().invoke(command, ["--help"]).output.splitlines()
    ]
    shown = [line for line in lines if line.endswith(":") or "Option" in line]
    assert [line for line in shown if line.endswith(":")] == ["First:", "Second things:", "Options:"]


def test_options_in_sections_work_like_ordinary_options() -> None:
    assert CliRunner().invoke(command, ["--one", "1", "--three", "3"]).output == "1 None 3\n"


@click.command("l", cls=SectionedCommand, common=("three", "one"), epilog="\b\nExamples:\n  l --one 1\n\n\b\nMore.")
@FIRST.add
@SECOND.add
def long_command(one: str | None, two: str | None, three: str | None) -> None:
    click.echo(f"{one} {two} {three}")


def test_short_help_of_a_command_shows_common_options() -> None:
    """The short help lists the common options in the given order, without titles. It also shows the first part of the
    epilog.
    """
    output = CliRunner().invoke(long_command, ["--help"]).output
    order = [output.index(word) for word in ("Options:", "--three", "--one", "--help-all", "--help ", "Examples:")]
    assert order == sorted(order)
    assert not [word for word in ("--two", "First:", "More.") if word in output]


def test_help_all_shows_every_section_and_the_epilog() -> None:
    """Other options on the command line do not change the output of --help-all."""
    found = CliRunner().invoke(long_command, ["--one", "1", "--help-all"])
    assert found.exit_code == 0
    words = ("First:", "--one", "Second things:", "--two", "--three", "Options:", "--help-all", "Examples:", "More.")
    order = [found.output.index(word) for word in words]
    assert order == sorted(order)
    assert CliRunner().invoke(long_command, ["--two", "2"]).output == "None 2 None\n"


@pytest.mark.parametrize("name", ["replay", "compare", "sweep"])
def test_ten_common_options_of_long_commands_fit_one_page(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert isinstance(command, SectionedCommand)
    assert len(command.common) == 10
    assert set(command.common) <= {param.name for param in command.params}
    found = CliRunner().invoke(command, ["--help"], terminal_width=80)
    assert found.exit_code == 0, found.output
