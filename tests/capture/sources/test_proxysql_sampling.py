# SPDX-License-Identifier: Apache-2.0
"""Incomplete ProxySQL logs give a warning. The signs are variables and rules of the admin port, and missing events."""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.servers.sandbox import Server

from tests.capture.sources.test_proxysql import json_lines
from tests.helpers.command_line import run_here

pytestmark = pytest.mark.slow


def kinds(path: Path, out: Path, **server: Any) -> list[str]:
    """Return the warning kinds of a tape."""
    info = capture_source(SOURCES["proxysql"], [str(path)], out, Settings(server=server or None))
    return [warning["kind"] for warning in info["warnings"]]


def test_admin_port_settings_give_warnings(tmp_path: Path) -> None:
    """A sampling rate above 1 means that only some events are logged. If query rules exclude events, the tape is
    partial.
    """
    path = json_lines(tmp_path / "a.log", [{"query": "SELECT 1"}])
    every = {"mysql-eventslog_rate_limit": "1", "mysql-eventslog_default_log": "1"}
    assert kinds(path, tmp_path / "1", variables=every, rules=[[1, 1]]) == []
    assert kinds(path, tmp_path / "2", variables={**every, "mysql-eventslog_rate_limit": "5"}) == ["query_sampled"]
    assert kinds(path, tmp_path / "3", variables=every, rules=[[1, 0]]) == ["log_rules"]
    chosen = {"mysql-eventslog_default_log": "0"}
    assert kinds(path, tmp_path / "4", variables=chosen, rules=[[1, 1]]) == ["log_rules"]


@pytest.mark.parametrize("rate", [1, 2, 10])
def test_missing_events_give_a_sampling_warning(tmp_path: Path, rate: int) -> None:
    """A complete log gives no warning, even if some sessions are older than the log. A log with a half or a tenth of
    the events gives a warning.
    """
    chance = random.Random(rate)
    rows: list[dict[str, object]] = []
    for session in range(120):
        old = session < 10  # prepared its statements before the log began
        steps = [] if old else [("COM_STMT_PREPARE", "SELECT ?"), ("COM_STMT_PREPARE", "UPDATE t SET a = ?")]
        for n in range(5):
            steps += [
                ("COM_QUERY", "BEGIN"),
                ("COM_STMT_EXECUTE", "SELECT ?"),
                ("COM_STMT_EXECUTE", "UPDATE t SET a = ?"),
            ]
            steps += [("COM_QUERY", "ROLLBACK TO s"), ("COM_QUERY", "commit" if n % 2 else "/* x */ COMMIT")]
        rows += [{"thread_id": session, "event": event, "query": query} for event, query in steps]
    kept = [row for row in rows if chance.random() < 1 / rate]
    assert kinds(json_lines(tmp_path / "a.log", kept), tmp_path / "t") == ([] if rate == 1 else ["looks_sampled"])


@pytest.mark.server
def test_admin_port_is_queried(mariadb: Server, tmp_path: Path) -> None:
    """A MariaDB server with ProxySQL's tables acts as the admin port, and its sampling rate is read. If the tables are
    empty, the server is treated as MySQL.
    """
    mariadb.execute("CREATE DATABASE IF NOT EXISTS main")
    mariadb.execute("CREATE OR REPLACE TABLE main.runtime_global_variables (variable_name TEXT, variable_value TEXT)")
    mariadb.execute("CREATE OR REPLACE TABLE main.runtime_mysql_query_rules (rule_id INT, active INT, log INT)")
    path = json_lines(tmp_path / "a.log", [{"query": "SELECT 1"}])
    command = ("capture", "proxysql", str(path), "--source", mariadb.url())
    try:
        plain = run_here(*command, "-o", str(tmp_path / "p.tape"))
        assert plain.code == 0, plain.err
        assert "partial" not in plain.out
        mariadb.execute(
            "INSERT INTO main.runtime_global_variables VALUES ('mysql-eventslog_rate_limit', '20'),"
            " ('mysql-eventslog_default_log', '1'), ('admin-version', '3.0.2'), ('admin-stats_credentials', 'stats:secret')"
        )
        mariadb.execute("INSERT INTO main.runtime_mysql_query_rules VALUES (4, 1, 0), (5, 0, 0), (6, 1, NULL)")
        asked = run_here(*command, "-o", str(tmp_path / "a.tape"))
        assert asked.code == 0, asked.err
        assert "only 1 of 20 events" in asked.out
        assert "does not log the statements of 1 query rule" in asked.out
        assert "secret" not in (tmp_path / "a.tape" / "tape.json").read_text()
        refused = run_here(
            "replay", str(tmp_path / "a.tape"), "--target", mariadb.url(), "--partial-ok", "-o", str(tmp_path / "r")
        )
        assert refused.code == 1
        assert "can only be analyzed" in refused.err
    finally:
        mariadb.execute("DROP DATABASE main")
