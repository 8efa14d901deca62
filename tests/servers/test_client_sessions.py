# SPDX-License-Identifier: Apache-2.0
"""Tests of the open sessions that each kind of server shows, and of unusual answers."""

import random
from collections.abc import Iterator
from math import floor
from typing import Any

import pytest
from pymysql.connections import Connection
from querytape.servers.client_sessions import (
    PREPARED_STATEMENTS,
    OpenSession,
    address_of,
    ask_open_sessions,
    earliest_start,
    port_of,
    sessions_of,
    shown_text,
    with_addresses,
    with_prepared,
)
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server

from tests.helpers.binary_client import Prepared

from ..conftest import ServerFactory

LONG = "SELECT " + "1 + " * 300 + "?"


@pytest.fixture(name="asked")
def _asked(request: pytest.FixtureRequest, server_factory: ServerFactory) -> Iterator[tuple[Server, "Connection[Any]"]]:
    """Start a server of the kind that the test names. Yield the server and a connection for queries."""
    name, schema = request.param
    server = server_factory(name, {"performance-schema": schema})
    server.execute("CREATE DATABASE shop")
    with server.connect() as con:
        yield server, con


def pooled(server: Server) -> Any:
    """Return a connection with its own session state."""
    con = server.connect("shop", autocommit=None)
    with con.cursor() as cursor:
        cursor.execute("SET sql_mode = 'ANSI_QUOTES', autocommit = 0, @a = 'it''s', @b = NULL")
        cursor.execute("PREPARE named FROM 'SELECT ?'")
    Prepared(con, "SELECT ? + 1")
    Prepared(con, LONG)
    return con


@pytest.mark.sampled
@pytest.mark.server
@pytest.mark.parametrize(
    "asked", [("mysql80", "ON"), ("mysql-5.7", "ON"), ("mariadb", "ON"), ("mariadb", "OFF")], indirect=True
)
def test_each_server_shows_the_documented_session_state(asked: tuple[Server, "Connection[Any]"]) -> None:
    """The documentation of the states is the table in docs/sources/open-sessions.md. A shortened or hidden statement
    has no text.
    """
    server, con = asked
    with pooled(server) as client:
        port, facts = client_port(client), gather(con)
        known = ask_open_sessions(con, facts.variables)
        (one,) = [each for each in known.sessions if each.thread_id == client.thread_id()]
    is_mariadb, shows = "MariaDB" in facts.version, facts.variables["performance_schema"] == "ON"
    assert (one.user, one.db, one.port) == ("root", "shop", port)
    assert one.address in (("127.0.0.1",) if shows else ("127.0.0.1", None))  # the address may be a host name
    assert (PREPARED_STATEMENTS in known.not_shown) == (not shows)
    assert (one.variables is None) == is_mariadb
    if one.variables is not None:
        assert (one.variables["sql_mode"], one.variables["autocommit"]) == ("ANSI_QUOTES", "OFF")
        assert one.collation is not None
    if shows:
        assert one.user_variables == {"a": b"it's", "b": None}
        texts = [(each.name, each.text) for each in one.prepared or ()]
        assert texts == [("named", "SELECT ?" if is_mariadb else None), (None, "SELECT ? + 1"), (None, None)]
        assert [each.id for each in one.prepared or ()] == [1, 2, 3]


def client_port(client: Any) -> int:
    """Return the client port of a connection."""
    return int(client._sock.getsockname()[1])


def test_only_client_sessions_are_listed() -> None:
    """The server's own threads, replicas and the querying session are left out. Invalid rows are skipped."""
    rows: list[list[Any]] = [
        [1, "system user", "", None, "Connect"],
        [2, "event_scheduler", "localhost", None, "Daemon"],
        [3, "repl", "10.0.0.9:4000", None, "Binlog Dump"],
        [4, "me", "localhost", None, "Query"],
        [5, "app", "10.0.0.1:5000", "shop", "Sleep"],
        [6, b"app", b"::ffff:10.0.0.2:5001", None, "Sleep"],
        ["x", "app", "h", None, "Sleep"],
        [7, "app", "localhost", None, "Sleep"],
        [8, "app", "web1:99999", None, "Sleep"],
    ]
    assert sessions_of(rows, 4) == {
        5: OpenSession(5, "app", "shop", "10.0.0.1", 5000),
        6: OpenSession(6, "app", "", "10.0.0.2", 5001),
        7: OpenSession(7, "app", ""),
        8: OpenSession(8, "app", ""),
    }
    assert sessions_of(None, None) == {}


def test_address_of_the_socket_replaces_a_host_name() -> None:
    """If two clients have equal ports and no address, the function cannot distinguish them."""
    named = {1: OpenSession(1, "a", "", None, 5000), 2: OpenSession(2, "a", "", None, 5000)}
    assert [one.port for one in with_addresses(named, None).values()] == [None, None]
    both = with_addresses(named, [[1, "10.0.0.1", 5000], [2, "::ffff:10.0.0.2", 5000], [9, "1.2.3.4", 1]])
    assert [(one.address, one.port) for one in both.values()] == [("10.0.0.1", 5000), ("10.0.0.2", 5000)]
    assert [address_of(host) for host in ("[::1]", "web1", "")] == ["::1", None, None]
    assert [port_of(value) for value in (0, 65536, "77", None, "x")] == [None, None, 77, None, None]


def test_incomplete_statement_texts_are_dropped() -> None:
    """performance_schema keeps 1,024 bytes. MySQL 5.7 and 8.0 hide the text of a PREPARE statement."""
    assert shown_text(None, "SELECT 1") == "SELECT 1"
    assert shown_text(None, "x" * 1024) is None
    assert shown_text(None, "é" * 511) is None
    assert shown_text("p", "PREPARE p FROM ...") is None
    assert shown_text(None, "PREPARE p FROM ...") == "PREPARE p FROM ..."
    assert shown_text(None, None) is None
    odd = with_prepared({1: OpenSession(1, "a", "")}, [[1, "x", None, "SELECT 1"], [2, 1, None, "SELECT 1"]])
    assert list(odd[1].prepared or ()) == []


def test_calculated_start_is_not_after_the_real_start() -> None:
    """The calculated start time is never after the real start, for any clock offset and any delay of the answer."""
    chance = random.Random(1)
    for _ in range(10_000):
        started, ran, answered = chance.uniform(0, 10), chance.uniform(0, 10), chance.uniform(0, 0.5)
        asked, ahead = started + ran, chance.uniform(-5, 5)
        up = floor(asked + answered + ahead) - floor(started + ahead)
        assert started - 2 - answered <= earliest_start(asked, up) <= started
