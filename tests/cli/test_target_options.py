# SPDX-License-Identifier: Apache-2.0
"""Options that say where a replay goes."""

import pytest
from querytape.cli.replay_settings import parse_replay_options
from querytape.common.errors import InputError
from querytape.servers.sandbox_url import Sandbox


def test_the_target_is_a_url_or_a_private_server() -> None:
    """A URL is kept as it is; a private server is read, and a wrong one is refused at once."""
    assert parse_replay_options(["--target", "mysql://a@h/shop", "-o", "r"])["target"] == "mysql://a@h/shop"
    assert parse_replay_options(["--target", "sandbox:mysql", "-o", "r"])["target"] == Sandbox("mysql")
    with pytest.raises(InputError, match="a private server sets its own datadir"):
        parse_replay_options(["--target", "sandbox?datadir=/var/lib/mysql", "-o", "r"])
