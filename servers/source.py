# SPDX-License-Identifier: Apache-2.0
"""What a capture keeps of the server that its log came from, so that a replay knows it again and refuses it."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .facts import ask, gather
from .target import parse_target

# Old and new names of the same question; the first that the server knows is taken.
POSITION_QUESTIONS = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
GTID_QUESTIONS = ("SELECT @@GLOBAL.gtid_executed", "SELECT @@GLOBAL.gtid_binlog_pos")


def describe_server(
    url: str,
    defaults_file: Path | None = None,
    defaults_group: str | None = None,
    ask_password: bool = False,
) -> dict[str, Any]:
    """Return `tape.json`'s `server`: identity, version, variables, time_zone, binlog, gtid, at.

    Nothing is changed there. Raises InputError for a bad URL, TargetError where it can't be reached.
    """
    target = parse_target(url, defaults_file, defaults_group, ask_password)
    with closing(target.connect()) as con:
        facts = gather(con)
        position = next((rows[0] for q in POSITION_QUESTIONS if (rows := ask(con, q))), None)
        gtid = next((rows[0][0] for q in GTID_QUESTIONS if (rows := ask(con, q))), None)
    zone = facts.variables.get("time_zone", "")
    return {
        "identity": facts.identity,
        "version": facts.version,
        "variables": facts.variables,
        "time_zone": facts.variables.get("system_time_zone", "") if zone == "SYSTEM" else zone,
        "binlog": {"file": position[0], "position": position[1]} if position else None,
        "gtid": gtid or None,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
