# SPDX-License-Identifier: Apache-2.0
"""Tests of the options for a replay's target."""

import pytest
from querytape.cli.replay_settings import parse_replay_options
from querytape.common.errors import InputError
from querytape.servers.sandbox_url import Sandbox


def test_target_is_a_url_or_a_private_server() -> None:
    """A URL is kept as text. The options of a private server are parsed at once, and invalid options are refused."""
    assert parse_replay_options(["--target", "mysql://a@h/shop", "-o", "r"])["target"] == "mysql://a@h/shop"
    assert parse_replay_options(["--target", "sandbox:mysql", "-o", "r"])["target"] == Sandbox("mysql")
    with pytest.raises(InputError, match="querytape sets datadir itself"):
        parse_replay_options(["--target", "sandbox?datadir=/var/lib/mysql", "-o", "r"])
