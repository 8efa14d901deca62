# SPDX-License-Identifier: Apache-2.0
"""Tests that a replay uses the collation of the captured session, from its login and from COM_CHANGE_USER."""

import struct
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.replay import replay
from querytape.servers.sandbox import Server

from tests.helpers.relay import Relay
from tests.helpers.whole import accounting, options

CHANGE_USER, RESET_CONNECTION = 0x11, 0x1F
OF_BOTH = (45, 46, 8, 33, 224)
FAMILIES = {"mariadb": (*OF_BOTH, 1069, 1270), "mysql": (*OF_BOTH, 255, 303, 309)}
NOTE = (
    "INSERT INTO noted (place, names) VALUES ('{}', CONCAT_WS(' ', @@collation_connection, @@character_set_client,"
    " @@character_set_results, 'a' = 'A', 'a' = 'a '))"
)


def change(con: Any, collation: int) -> None:
    """Send COM_CHANGE_USER with the id of a collation."""
    con._execute_command(CHANGE_USER, b"plain\0\0shop\0" + struct.pack("<H", collation) + b"mysql_native_password\0\0")
    while not con._read_packet().is_ok_packet():
        con.write_packet(b"")  # answer to an authentication switch; the password is empty


def work(port: int, collations: tuple[int, ...]) -> None:
    """Change to each collation. Record the settings of the session after the change and after a reset."""
    con: Any = pymysql.connect(
        host="127.0.0.1", port=port, user="plain", database="shop", ssl_disabled=True, autocommit=None
    )
    with con.cursor() as cursor:
        for number in collations:
            change(con, number)
            cursor.execute(NOTE.format(f"{number} asked for"))
            cursor.execute("SET NAMES latin1 COLLATE latin1_bin")
            con._execute_command(RESET_CONNECTION, b"")
            con._read_packet()
            cursor.execute(NOTE.format(f"{number} reset"))
    con.close()


def fresh(server: Server) -> None:
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
    server.execute("CREATE TABLE shop.noted (id INT AUTO_INCREMENT PRIMARY KEY, place VARCHAR(40), names VARCHAR(200))")


def recorded_settings(server: Server) -> Any:
    """Return the recorded settings in the order in which they were recorded."""
    return server.execute("SELECT place, names FROM noted ORDER BY id", db="shop")


@pytest.mark.long
def test_collation_from_change_user_is_replayed(server: Server, tmp_path: Path) -> None:
    """Some of the collations have ids above 255. The settings are also equal after a connection reset."""
    fresh(server)
    native = "VIA mysql_native_password USING ''" if server.kind == "mariadb" else "WITH mysql_native_password BY ''"
    server.execute("DROP USER IF EXISTS plain@localhost")
    server.execute(f"CREATE USER plain@localhost IDENTIFIED {native}")
    server.execute("GRANT ALL ON shop.* TO plain@localhost")
    with Relay(server.port) as relay:
        work(relay.port, FAMILIES[server.program.family])
    path = relay.write(tmp_path / "a.pcap")
    original = recorded_settings(server)
    capture_source(SOURCES["packets"], [str(path)], tmp_path / "a.tape", Settings(extra={"port": (3306,)}))
    fresh(server)
    summary = replay(tmp_path / "a.tape", options(server, tmp_path / "a.run"))
    assert accounting(summary)[3] == 0
    assert recorded_settings(server) == original
    assert len({names for _, names in original}) > len(OF_BOTH)
    server.execute("DROP USER plain@localhost")
