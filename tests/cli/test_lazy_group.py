# SPDX-License-Identifier: Apache-2.0
"""A command group lists and completes its commands without importing them."""

import click
from click.testing import CliRunner
from querytape.cli.lazy_group import LazyCommand, LazyGroup

LAZY = {"later": LazyCommand("querytape.no_such_module:command", "Do it later."), "demo": LazyCommand("", "")}


@click.command("now")
def now_command() -> None:
    """Do it now. And more."""


def make_group() -> LazyGroup:
    """Return a group with one loaded command and one lazy command. The module of the lazy command is missing."""
    group = LazyGroup("g", lazy={"later": LAZY["later"]})
    group.add_command(now_command)
    return group


def test_group_help_imports_no_command() -> None:
    """A command whose module is missing is still listed in the help."""
    output = CliRunner().invoke(make_group(), ["--help"]).output
    assert "  later  Do it later.\n" in output
    assert "  now    Do it now.\n" in output


def test_help_sections_follow_the_order_of_their_commands() -> None:
    """Each section title is printed before its commands. Commands without a section come last."""
    lazy = {
        "z": LazyCommand("", "Z.", "Second"),
        "b": LazyCommand("", "B.", "First"),
        "a": LazyCommand("", "A.", "Second"),
    }
    group = LazyGroup("g", lazy=lazy)
    group.add_command(now_command)
    output = CliRunner().invoke(group, ["--help"]).output
    words = ("Second:", "  z", "  a", "First:", "  b", "Commands:", "  now")
    order = [output.index(f"\n{word}") for word in words]
    assert order == sorted(order)


def test_completion_imports_no_command() -> None:
    """Completion offers options, and command names with their short help."""
    group = make_group()
    items = group.shell_complete(click.Context(group), "l")
    assert [(item.value, item.help) for item in items] == [("later", "Do it later.")]
    assert [item.value for item in group.shell_complete(click.Context(group), "--h")] == ["--help"]


def test_command_is_imported_on_first_use() -> None:
    """A lazy command is declared as a module path and the name of an attribute in the module. For an unknown name, the
    group returns None.
    """
    group = LazyGroup("g", lazy={"speed": LazyCommand(".commands.speed:speed_command", "")})
    context = click.Context(group)
    command = group.get_command(context, "speed")
    assert command is not None
    assert command.name == "speed"
    assert group.get_command(context, "speed") is command
    assert group.get_command(context, "haste") is None
