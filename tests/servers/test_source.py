# SPDX-License-Identifier: Apache-2.0
"""The server that a log came from, as the tape keeps it."""

import pytest
from querytape.common.errors import InputError, TargetError
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server
from querytape.servers.source import describe_server


@pytest.mark.mariadb
@pytest.mark.mysql
def test_description(server: Server) -> None:
    """Identity, version, variables, time zone and the time of asking; nothing needs the binary log to be on."""
    described = describe_server(server.url())
    with server.connect() as con:
        assert described["identity"] == gather(con).identity
    assert described["identity"]
    assert described["version"].startswith(server.version)
    assert described["variables"]["port"] == str(server.port)
    assert described["time_zone"]
    assert described["binlog"] is None
    assert described["at"].endswith("+00:00")


def test_no_server() -> None:
    """A bad address and a server that is not there are errors of different kinds."""
    with pytest.raises(InputError):
        describe_server("prod")
    with pytest.raises(TargetError):
        describe_server("mysql://app@127.0.0.1:1/")
