# SPDX-License-Identifier: Apache-2.0
"""The options of a login are declared once, and are the same in each command that has them."""

import click
import pytest
from querytape.cli.main import group
from querytape.cli.server_options import LOGIN, TLS, TLS_MODES
from querytape.servers.target import PASSWORD_VARIABLES
from querytape.servers.tls import MODES


def test_the_repeated_list_of_tls_modes_equals_that_of_the_servers() -> None:
    assert TLS_MODES == MODES


@pytest.mark.parametrize("words", [["replay"], ["sweep"], ["capture", "server"], ["capture", "slowlog"]])
def test_every_login_says_the_same(words: list[str]) -> None:
    """Each command with one of these options has the same help for it; both variables are named."""
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
