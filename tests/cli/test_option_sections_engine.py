# SPDX-License-Identifier: Apache-2.0
"""Tests of command line options whose defaults and help come from the replay engine's declarations."""

import click
import pytest
from querytape.cli.option_sections import engine_option
from querytape.schemas.names import SETTINGS, EngineSettings


@pytest.mark.parametrize("name", SETTINGS)
def test_option_defaults_and_help_equal_the_engine_declaration(name: str) -> None:
    names, settings = engine_option(name)
    option = click.Option(list(names), **settings)
    command = click.Command("x", params=[option])
    assert option.opts == [SETTINGS[name].option]
    assert option.help == SETTINGS[name].help
    assert command.make_context("x", []).params == {name: getattr(EngineSettings, name)}


@pytest.mark.parametrize(("name", "given"), [("timer_probes", "65"), ("connect_rate", "0"), ("max_errors", "-1")])
def test_numbers_out_of_range_are_refused(name: str, given: str) -> None:
    names, settings = engine_option(name)
    command = click.Command("x", params=[click.Option(list(names), **settings)])
    with pytest.raises(click.BadParameter, match="not in the range"):
        command.make_context("x", [names[0], given])
