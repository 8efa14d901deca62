# SPDX-License-Identifier: Apache-2.0
"""Tests of the login options. They are declared once and used by all commands."""

import click
import pytest
from querytape.cli.main import group
from querytape.cli.server_options import LOGIN, TLS, TLS_MODES
from querytape.servers.target import PASSWORD_VARIABLES
from querytape.servers.tls import MODES


def test_tls_modes_of_the_option_equal_those_of_the_servers_package() -> None:
    assert TLS_MODES == MODES


@pytest.mark.parametrize("words", [["replay"], ["sweep"], ["capture", "server"], ["capture", "slowlog"]])
def test_login_options_have_equal_help_in_every_command(words: list[str]) -> None:
    """The help names both environment variables."""
    command: click.Command | None = group
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    helps = {param.opts[0]: param.help for param in command.params if isinstance(param, click.Option)}
    declared = {names[0]: settings["help"] for names, settings in (*LOGIN, *TLS)}
    shared = declared.keys() & helps.keys()
    assert "--ask-password" in shared
    assert {name: helps[name] for name in shared} == {name: declared[name] for name in shared}
    assert all(name in str(helps["--ask-password"]) for name in PASSWORD_VARIABLES)
