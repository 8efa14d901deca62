# SPDX-License-Identifier: Apache-2.0
"""The server that a log came from, as the tape keeps it."""

import time
from datetime import UTC, datetime

import pytest
from querytape.common.errors import InputError, TargetError
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server
from querytape.servers.source import describe_proxysql, describe_target, server_time
from querytape.servers.target import parse_target


@pytest.mark.server
def test_description(server: Server) -> None:
    """Identity, version, variables, time zone and the time of asking; nothing needs the binary log to be on."""
    described = describe_target(parse_target(server.url()))
    with server.connect() as con:
        assert described["identity"] == gather(con).identity
    assert described["identity"]
    assert described["version"].startswith(server.version)
    assert described["variables"]["port"] == str(server.port)
    assert described["time_zone"]
    assert described["binlog"] is None
    assert abs(datetime.fromisoformat(described["at"]).timestamp() - time.time()) < 600


def test_times_of_servers() -> None:
    """The server's clock is taken, to the microsecond; what is no time is skipped."""
    assert server_time([["1795331908.872836"]]).isoformat() == "2026-11-22T07:18:28.872836+00:00"
    for nonsense in (None, [], [["x"]], [[None]], [["1e99"]]):
        assert server_time(nonsense).tzinfo is UTC


def test_no_server() -> None:
    """A bad address and a server that is not there are errors of different kinds."""
    with pytest.raises(InputError):
        describe_target(parse_target("prod"))
    with pytest.raises(TargetError):
        describe_target(parse_target("mysql://app@127.0.0.1:1/"))


@pytest.mark.server
def test_another_server(mariadb: Server) -> None:
    """A MySQL server has no such tables: it is none."""
    assert describe_proxysql(parse_target(mariadb.url())) is None
