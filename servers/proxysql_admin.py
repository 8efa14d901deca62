# SPDX-License-Identifier: Apache-2.0
"""Ask ProxySQL's admin port how it writes its events log."""

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from ..common.text import printable
from .queries import query_or_none
from .target import Target

VARIABLES = "SELECT variable_name, variable_value FROM main.runtime_global_variables"
RULES = "SELECT rule_id, log FROM main.runtime_mysql_query_rules WHERE active = 1 AND log IS NOT NULL"
PREFIXES = ("mysql-eventslog_", "admin-version", "mysql-server_version")
MAX_RULES = 10_000


def describe_proxysql(target: Target) -> dict[str, Any] | None:
    """Return what an admin port says of its events log, as `server` of tape.json; None where it is no admin port.

    `rules`: the active query rules that say whether an event is logged, as [rule, 0 or 1]; None where they cannot be
    read. Raises TargetError where it cannot be reached.
    """
    with closing(target.connect()) as con:
        rows = query_or_none(con, VARIABLES, 2)
        if not rows:
            return None
        variables = {str(name): printable(str(value), 200) for name, value, *_ in rows}
        rules = query_or_none(con, RULES, 2)
    shown = {name: value for name, value in sorted(variables.items()) if name.startswith(PREFIXES)}
    return {
        "identity": f"proxysql {target.name}",
        "version": f"ProxySQL {variables.get('admin-version', '')}".strip(),
        "variables": shown,
        "time_zone": "",
        "binlog": None,
        "gtid": None,
        "at": datetime.now(UTC).isoformat(timespec="microseconds"),
        "rules": None if rules is None else [[int(rule), int(log)] for rule, log, *_ in rules[:MAX_RULES]],
    }
