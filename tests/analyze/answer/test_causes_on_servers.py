# SPDX-License-Identifier: Apache-2.0
"""Settings that decide about an error, tried on real servers: the error comes with B's value, not with A's."""

import time
from pathlib import Path

import pymysql
import pytest
from querytape.analyze.answer.causes import cause_of
from querytape.analyze.findings.variables import different_variables
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory

pytestmark = pytest.mark.server
SETUP = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
    "INSERT INTO shop.t (v) VALUES (1), (2), (3)",
    "CREATE TABLE shop.stamped (at TIMESTAMP NOT NULL)",
)
FAMILIES = {
    "mysql80": [
        ("sql_require_primary_key", "OFF", "ON", "CREATE TABLE shop.keyless (a INT)", 3750),
        ("explicit_defaults_for_timestamp", "OFF", "ON", "INSERT INTO shop.stamped VALUES (NULL)", 1048),
        ("local_infile", "ON", "OFF", "LOAD DATA LOCAL INFILE '{file}' INTO TABLE shop.t", 3948),
        ("log_bin_trust_function_creators", "ON", "OFF", "CREATE FUNCTION shop.f() RETURNS INT RETURN 1", 1418),
        ("require_secure_transport", "OFF", "ON", "SELECT 1", 3159),
        ("max_prepared_stmt_count", "100", "0", "PREPARE s FROM 'SELECT 1'", 1461),
        ("super_read_only", "OFF", "ON", "INSERT INTO shop.t (v) VALUES (4)", 1290),
        ("wait_timeout", "28800", "1", "{idle}SELECT 1", 2013),
    ],
    "mariadb": [
        ("local_infile", "ON", "OFF", "LOAD DATA LOCAL INFILE '{file}' INTO TABLE shop.t", 4166),
        ("log_bin_trust_function_creators", "ON", "OFF", "CREATE FUNCTION shop.f() RETURNS INT RETURN 1", 1418),
        ("max_statement_time", "0", "0.05", "SELECT SLEEP(0.3)", 1969),
        ("max_prepared_stmt_count", "100", "0", "PREPARE s FROM 'SELECT 1'", 1461),
    ],
}
# Errors that no setting decides about.
ALONE = {
    "mysql80": [
        ("SET time_zone = 'Europe/Berlin'", 1298, "mysql_tzinfo_to_sql"),
        ("SELECT ST_AsText(ST_GeomFromText('POINT(120 10)', 4326))", 3617, "axis-order"),
        ("CREATE USER x IDENTIFIED WITH none_such", 1524, "ALTER USER"),
    ],
    "mariadb": [("SET time_zone = 'Europe/Berlin'", 1298, "mysql_tzinfo_to_sql")],
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_settings(kind: str, server_factory: ServerFactory, tmp_path: Path) -> None:
    """Each names itself, with both values and with what makes B as A is."""
    server = server_factory(kind, {"log-bin": "binlog"})
    for statement in SETUP:
        server.execute(statement)
    (tmp_path / "rows").write_text("")
    for name, a, b, text, errno in FAMILIES[kind]:
        statement, idle = text.replace("{file}", str(tmp_path / "rows")), "{idle}" in text
        before = setting(server, name)
        failed, seen = {}, {}
        for value in (b, a):  # what fails leaves nothing behind
            server.execute(f"SET GLOBAL {name} = {value}")
            seen[value] = variables(server)
            failed[value] = outcome(server, statement.replace("{idle}", ""), idle_s=2.5 if idle and value == b else 0)
        server.execute(f"SET GLOBAL {name} = {before}")
        assert (name, failed[a], failed[b]) == (name, None, errno)
        cause = cause_of(errno, statement, (), different_variables(seen[a], seen[b]))
        assert f"{name} is {seen[a][name]} in A, {seen[b][name]} in B" in cause.text
        assert cause.remedy.startswith(f"SET GLOBAL {name} = ")


@pytest.mark.parametrize("kind", ALONE)
def test_without_a_setting(kind: str, request: pytest.FixtureRequest) -> None:
    """The remedy has what to run."""
    server = request.getfixturevalue(kind)
    for statement, errno, word in ALONE[kind]:
        assert outcome(server, statement) == errno
        assert word in cause_of(errno, statement).remedy


def outcome(server: Server, statement: str, idle_s: float = 0) -> int | None:
    """Return the error number of a statement in a session of its own over TCP without TLS; None where it works."""
    try:
        connection = pymysql.connect(
            host="127.0.0.1", port=server.port, user="root", ssl_disabled=True, local_infile=True, autocommit=True
        )
        with connection, connection.cursor() as cursor:
            time.sleep(idle_s)
            cursor.execute(statement)
    except pymysql.MySQLError as error:
        return int(error.args[0])
    return None


def setting(server: Server, name: str) -> str:
    """Return a global variable as SET takes it."""
    value = variables(server)[name]
    return value if value.replace(".", "").isdigit() or value in ("ON", "OFF") else f"'{value}'"


def variables(server: Server) -> dict[str, str]:
    """Return the global variables."""
    return {str(name): str(value) for name, value in server.execute("SHOW GLOBAL VARIABLES")}
