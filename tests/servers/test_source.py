# SPDX-License-Identifier: Apache-2.0
"""Tests of the description of the source server that a tape keeps."""

import time
from datetime import UTC, datetime

import pytest
from querytape.common.errors import InputError, TargetError
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server
from querytape.servers.source import describe_proxysql, describe_target, server_time
from querytape.servers.target import parse_target


@pytest.mark.server
def test_source_description_of_a_real_server(server: Server) -> None:
    """The description has the identity, version, variables, time zone and time of the query. The binary log may be off."""
    described = describe_target(parse_target(server.url()))
    with server.connect() as con:
        assert described["identity"] == gather(con).identity
    assert described["identity"]
    assert described["version"].startswith(server.version)
    assert described["variables"]["port"] == str(server.port)
    assert described["time_zone"]
    assert described["binlog"] is None
    assert abs(datetime.fromisoformat(described["at"]).timestamp() - time.time()) < 600


def test_clock_of_the_server_is_used() -> None:
    """The time has microseconds. Invalid times of the server are skipped."""
    assert server_time([["1795331908.872836"]]).isoformat() == "2026-11-22T07:18:28.872836+00:00"
    for nonsense in (None, [], [["x"]], [[None]], [["1e99"]]):
        assert server_time(nonsense).tzinfo is UTC


def test_bad_address_and_missing_server_are_different_errors() -> None:
    with pytest.raises(InputError):
        describe_target(parse_target("prod"))
    with pytest.raises(TargetError):
        describe_target(parse_target("mysql://app@127.0.0.1:1/"))


@pytest.mark.server
def test_mariadb_is_not_proxysql(mariadb: Server) -> None:
    """MariaDB does not have the tables of ProxySQL."""
    assert describe_proxysql(parse_target(mariadb.url())) is None
