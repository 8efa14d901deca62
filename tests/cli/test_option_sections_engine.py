# SPDX-License-Identifier: Apache-2.0
"""Options of the command line that are declared as the engine's."""

import click
import pytest
from querytape.cli.option_sections import engine_option
from querytape.schemas.names import SETTINGS, EngineSettings


@pytest.mark.parametrize("name", SETTINGS)
def test_defaults_and_help_are_as_declared(name: str) -> None:
    """Without the option, the value is the library's default; help is the declared sentence."""
    names, settings = engine_option(name)
    option = click.Option(list(names), **settings)
    command = click.Command("x", params=[option])
    assert option.opts == [SETTINGS[name].option]
    assert option.help == SETTINGS[name].help
    assert command.make_context("x", []).params == {name: getattr(EngineSettings, name)}


@pytest.mark.parametrize(("name", "given"), [("timer_probes", "65"), ("connect_rate", "0"), ("max_errors", "-1")])
def test_numbers_out_of_bounds_are_refused(name: str, given: str) -> None:
    names, settings = engine_option(name)
    command = click.Command("x", params=[click.Option(list(names), **settings)])
    with pytest.raises(click.BadParameter, match="not in the range"):
        command.make_context("x", [names[0], given])
