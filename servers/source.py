# SPDX-License-Identifier: Apache-2.0
"""Describe the server or ProxySQL that wrote a log.

A replay uses the description to refuse its own source as target.
"""

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from ..common.text import printable
from .client_sessions import OpenSessions, ask_open_sessions
from .facts import gather
from .queries import Rows, query_or_none
from .target import Target

# The new and the old name of the same query. The first query that the server supports is used.
POSITION_QUERIES = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
GTID_QUERIES = ("SELECT @@GLOBAL.gtid_executed", "SELECT @@GLOBAL.gtid_binlog_pos")
PROXYSQL_VARIABLES = "SELECT variable_name, variable_value FROM main.runtime_global_variables"
PROXYSQL_RULES = "SELECT rule_id, log FROM main.runtime_mysql_query_rules WHERE active = 1 AND log IS NOT NULL"
PROXYSQL_PREFIXES = ("mysql-eventslog_", "admin-version", "mysql-server_version")
MAX_PROXYSQL_RULES = 10_000


def describe_target(target: Target) -> dict[str, Any]:
    """Return `server` of tape.json: identity, version, variables, time_zone, binlog, gtid, at (the server's clock).

    Nothing is changed on the server. Raises TargetError if the server cannot be reached.
    """
    with closing(target.connect()) as con:
        facts = gather(con)
        position = next((rows[0] for q in POSITION_QUERIES if (rows := query_or_none(con, q, 2))), None)
        gtid = next((rows[0][0] for q in GTID_QUERIES if (rows := query_or_none(con, q))), None)
        taken = server_time(query_or_none(con, "SELECT UNIX_TIMESTAMP(NOW(6))"))
    zone = facts.variables.get("time_zone", "")
    return {
        "identity": facts.identity,
        "version": facts.version,
        "variables": facts.variables,
        "time_zone": facts.variables.get("system_time_zone", "") if zone == "SYSTEM" else zone,
        "binlog": {"file": position[0], "position": position[1]} if position else None,
        "gtid": gtid or None,
        "at": taken.isoformat(timespec="microseconds"),
    }


def describe_with_sessions(target: Target) -> tuple[dict[str, Any], OpenSessions]:
    """Return the description of describe_target and the open sessions. Raises TargetError."""
    described = describe_target(target)
    with closing(target.connect()) as con:
        return described, ask_open_sessions(con, described["variables"])


def server_time(rows: Rows | None) -> datetime:
    """Return the server's time from the server's UNIX_TIMESTAMP.

    Return this machine's time if the answer is invalid.
    """
    try:
        return datetime.fromtimestamp(float(rows[0][0]), UTC) if rows else datetime.now(UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return datetime.now(UTC)


def describe_proxysql(target: Target) -> dict[str, Any] | None:
    """Return `server` of tape.json for the events log of a ProxySQL admin port.

    Returns None if the target is not an admin port. `rules`: the active query rules that determine whether an event is
    logged, as [rule, 0 or 1]. `rules` is None if the rules cannot be read. Raises TargetError if the port cannot be
    reached.
    """
    with closing(target.connect()) as con:
        rows = query_or_none(con, PROXYSQL_VARIABLES, 2)
        if not rows:
            return None
        variables = {str(name): printable(str(value), 200) for name, value, *_ in rows}
        rules = query_or_none(con, PROXYSQL_RULES, 2)
    shown = {name: value for name, value in sorted(variables.items()) if name.startswith(PROXYSQL_PREFIXES)}
    return {
        "identity": f"proxysql {target.name}",
        "version": f"ProxySQL {variables.get('admin-version', '')}".strip(),
        "variables": shown,
        "time_zone": "",
        "binlog": None,
        "gtid": None,
        "at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "rules": None if rules is None else [[int(rule), int(log)] for rule, log, *_ in rules[:MAX_PROXYSQL_RULES]],
    }
