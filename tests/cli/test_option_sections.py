# SPDX-License-Identifier: Apache-2.0
"""Sections of options: each has its title in the help."""

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


def test_titles_are_in_the_order_of_the_decorators() -> None:
    """Each title is followed by its options; the help option comes last, under a title of its own."""
    lines = [
        line.split("  ")[0].strip() or line.strip()
        for line in CliRunner().invoke(command, ["--help"]).output.splitlines()
    ]
    shown = [line for line in lines if line.endswith(":") or "Option" in line]
    assert [line for line in shown if line.endswith(":")] == ["First:", "Second things:", "Options:"]


def test_options_of_a_section_are_ordinary_options() -> None:
    assert CliRunner().invoke(command, ["--one", "1", "--three", "3"]).output == "1 None 3\n"


@click.command("l", cls=SectionedCommand, common=("three", "one"), epilog="\b\nExamples:\n  l --one 1\n\n\b\nMore.")
@FIRST.add
@SECOND.add
def long_command(one: str | None, two: str | None, three: str | None) -> None:
    click.echo(f"{one} {two} {three}")


def test_help_shows_what_most_people_need() -> None:
    """The named options in their order, without titles, and the first part of the epilog."""
    output = CliRunner().invoke(long_command, ["--help"]).output
    order = [output.index(word) for word in ("Options:", "--three", "--one", "--help-all", "--help ", "Examples:")]
    assert order == sorted(order)
    assert not [word for word in ("--two", "First:", "More.") if word in output]


def test_all_options_are_shown_when_they_are_asked_for() -> None:
    """Every section, and the whole epilog; other options do not matter."""
    found = CliRunner().invoke(long_command, ["--one", "1", "--help-all"])
    assert found.exit_code == 0
    words = ("First:", "--one", "Second things:", "--two", "--three", "Options:", "--help-all", "Examples:", "More.")
    order = [found.output.index(word) for word in words]
    assert order == sorted(order)
    assert CliRunner().invoke(long_command, ["--two", "2"]).output == "None 2 None\n"


@pytest.mark.parametrize("name", ["replay", "compare", "sweep"])
def test_the_ten_options_of_a_long_command_exist_and_fit_a_page(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert isinstance(command, SectionedCommand)
    assert len(command.common) == 10
    assert set(command.common) <= {param.name for param in command.params}
    found = CliRunner().invoke(command, ["--help"], terminal_width=80)
    assert found.exit_code == 0, found.output
