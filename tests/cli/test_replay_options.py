# SPDX-License-Identifier: Apache-2.0
"""Tests of the option sections of `querytape replay`, and of the options that `querytape sweep` has as well."""

import click
from click.testing import CliRunner
from querytape.cli.commands.replay import replay_command
from querytape.cli.commands.sweep import sweep_command
from querytape.cli.replay_options import SECTIONS, sweep_sections


def names(command: click.Command) -> set[str]:
    return {str(param.name) for param in command.params}


def test_option_sections_have_titles_and_start_with_the_right_option() -> None:
    output = CliRunner().invoke(replay_command, ["--help-all"]).output
    places = [output.index(f"\n{section.title}:\n") for section in SECTIONS]
    assert places == sorted(places)


def test_option_help_starts_with_a_capital_and_ends_with_a_period() -> None:
    helps = [settings["help"] for section in SECTIONS for _, settings in section.options]
    assert [text for text in helps if not text[0].isupper() or not text.endswith(".")] == []


def test_sweep_lacks_options_for_pace_and_selection() -> None:
    """The sweep command still passes these options to the replay, with their defaults."""
    assert {"pace", "speed", "from_at", "users", "target_slowlog"} & names(sweep_command) == set()
    assert {"target", "order", "allow_writes", "on_lost", "sample_ns"} <= names(sweep_command)

    @click.command()
    @sweep_sections
    def command(**options: object) -> None:
        click.echo(f"{options['pace']} {options['users']} {options['ramp_ns']} {options['loop']}")

    found = CliRunner().invoke(command, ["--target", "mysql://a@b", "-o", "x"])
    assert found.output == "schedule () 0 1\n"
