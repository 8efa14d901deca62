# SPDX-License-Identifier: Apache-2.0
"""Tests of the properties that are read from a server."""

from contextlib import closing

import pymysql
import pytest
from querytape.servers.facts import (
    Facts,
    count_replicas,
    gather,
    identity_of,
    names_of_collations,
    other_users,
    stale_statistics,
    whole_process_list,
    writing_privileges,
)
from querytape.servers.sandbox import Server
from querytape.servers.target import Target

from tests.helpers.growing_log import wait_until

ROWS = "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < {})"
FILL = ROWS.replace("{}", "900") + " SELECT n.id + {} * 1000, REPEAT('x', 2000) FROM n"


def test_server_variables_are_converted() -> None:
    """A missing variable or an invalid number becomes None (unknown)."""
    facts = Facts("8.0.31", variables={"max_connections": "151", "read_only": "ON", "lower_case_table_names": "1"})
    assert facts.number("max_connections") == 151
    assert facts.number("read_only") is None
    assert facts.number("none") is None
    assert (facts.read_only, facts.folds_names) == (True, True)
    assert (Facts("10.11.6").read_only, Facts("10.11.6").folds_names) == (False, False)
    assert not Facts("12.0", variables={"read_only": "NO_LOCK_NO_ADMIN"}).read_only


def test_other_connections_and_replicas_are_counted() -> None:
    """Connections of other users are counted by account. Replicas are counted by the dump threads that serve them."""
    processes = [
        (5, "event_scheduler", "localhost", None, "Daemon", 1, "", None),
        (7, "app", "10.0.0.5:4000", "shop", "Sleep", 1, "", None),
        (8, "app", "10.0.0.5:4001", "shop", "Sleep", 1, "", None),
        (9, "repl", "10.0.0.6:4001", None, "Binlog Dump GTID", 1, "", None),
        (10, "me", "localhost", None, "Query", 0, "", "SHOW PROCESSLIST"),
    ]
    assert other_users(processes, 10) == {"app@10.0.0.5": 2, "repl@10.0.0.6": 1}
    assert count_replicas([None, None], processes) == 1
    assert count_replicas([None, [(1,), (2,)]], None) == 2
    assert count_replicas([None, None], None) is None


def test_incomplete_process_list_is_unknown() -> None:
    """Without the PROCESS privilege a server shows only the account's own threads."""
    mine = [(10, "me", "localhost", None, "Query", 0, "", "SHOW PROCESSLIST")]
    usage = [("GRANT USAGE ON *.* TO `me`@`%`",)]
    assert whole_process_list(mine, 3, usage) is None
    assert whole_process_list(mine, 1, usage) == mine
    assert whole_process_list(mine, 3, [("GRANT SELECT, PROCESS ON *.* TO `me`@`%`",)]) == mine
    assert whole_process_list(mine, 3, [("GRANT ALL PRIVILEGES ON `shop`.* TO `me`@`%`",)]) is None
    assert whole_process_list(None, 1, usage) is None


@pytest.mark.server
def test_account_without_privileges_gets_unknown_properties(server: Server) -> None:
    """An account without privileges cannot see other connections and replicas."""
    server.execute("CREATE USER blind@'%' IDENTIFIED BY 'x'")
    try:
        with server.connect(), Target("blind", "127.0.0.1", "127.0.0.1", server.port, password="x").connect() as con:
            facts = gather(con)
    finally:
        server.execute("DROP USER blind@'%'")
    assert (facts.others, facts.replicas) == (None, None)
    assert "mysql" not in facts.schemas


def test_identity_of_a_server() -> None:
    """A MySQL server is identified by its UUID. A MariaDB server is identified by its uid, host, port and data folder."""
    assert identity_of({"server_uuid": "u"}) == "u"
    assert identity_of({"hostname": "h", "port": "1", "datadir": "/d"}) == "|h|1|/d"
    assert identity_of({}) is None


@pytest.mark.server
def test_real_server_answers_every_query(server: Server) -> None:
    with server.connect() as con:
        wait_until(lambda: gather(con).others == {}, "connections that other tests have closed end")
        facts = gather(con)
    with server.connect() as con:
        again = gather(con)
    assert facts.identity is not None
    assert again.identity == facts.identity
    assert facts.version.startswith(server.version)
    assert facts.number("max_connections") == 151
    assert facts.replicas == 0
    assert facts.connected is not None
    assert facts.event_scheduler is not None
    assert "mysql" in facts.schemas
    assert (facts.collations or {}).get(46) == "utf8mb4 COLLATE utf8mb4_bin"


GRANTS = [
    (["GRANT USAGE ON *.* TO `r`@`%` IDENTIFIED BY PASSWORD 'x'", "GRANT SELECT, SHOW VIEW ON `a`.* TO `r`@`%`"], ()),
    (["GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' WITH GRANT OPTION"], ("ALL PRIVILEGES",)),
    (["GRANT SELECT (a, b), INSERT (a), UPDATE ON `a`.`t` TO `u`@`%`"], ("INSERT", "UPDATE")),
    (["GRANT SELECT, FILE ON *.* TO `u`@`%`", "GRANT FILE_X,BACKUP_ADMIN ON *.* TO `u`@`%`"],
     ("FILE", "FILE_X", "BACKUP_ADMIN")),
    (["GRANT EXECUTE ON PROCEDURE `a`.`p` TO `u`@`%`"], ("EXECUTE",)),
    (["GRANT `app_write`@`%` TO `u`@`%`"], ("the role `app_write`@`%`",)),
]  # fmt: skip


@pytest.mark.parametrize(("grants", "may"), GRANTS)
def test_writing_privileges_are_named(grants: list[str], may: tuple[str, ...]) -> None:
    """The list contains all privileges that permit changes. A role is also named, because it may contain such a
    privilege.
    """
    assert writing_privileges([(text,) for text in grants]) == may
    assert writing_privileges(None) is None


def test_collations_have_names_by_id() -> None:
    """The names have the form of SET NAMES. Invalid names and collations without an id (MariaDB) are left out."""
    rows = [
        (45, "utf8mb4", "utf8mb4_general_ci"),
        (None, None, "uca1400_ai_ci"),
        ("46", "x; DROP", "y"),
        ("8", "a", "b"),
    ]
    assert names_of_collations(rows) == {45: "utf8mb4 COLLATE utf8mb4_general_ci", 8: "a COLLATE b"}
    assert names_of_collations(None) is None


def test_restored_table_has_stale_statistics_until_it_is_analyzed(server: Server) -> None:
    """Empty tables, analyzed tables and tables with deleted rows are not listed."""
    server.execute("DROP DATABASE IF EXISTS restored")
    server.execute("CREATE DATABASE restored")
    for table in ("loaded", "analyzed", "deleted", "empty"):
        options = "ENGINE = InnoDB STATS_AUTO_RECALC = 0"  # background updates would change the statistics
        server.execute(f"CREATE TABLE restored.{table} (id INT PRIMARY KEY, v TEXT) {options}")
        for part in range(3 if table != "empty" else 0):
            server.execute(f"INSERT INTO restored.{table} {FILL.format(part)}")
    server.execute("DELETE FROM restored.deleted WHERE id > 100")
    server.execute("ANALYZE TABLE restored.analyzed")
    with closing(server.connect()) as con:
        found = [name for name in stale_statistics(con) if name.startswith("restored.")]
    server.execute("DROP DATABASE restored")
    assert found == ["restored.loaded"]


def test_account_without_privileges_sees_no_stale_statistics(server: Server) -> None:
    server.execute("CREATE USER blind")
    with closing(pymysql.connect(host="127.0.0.1", port=server.port, user="blind", ssl_disabled=True)) as con:
        assert stale_statistics(con) == ()
    server.execute("DROP USER blind")
