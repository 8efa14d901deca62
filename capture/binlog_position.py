# SPDX-License-Identifier: Apache-2.0
"""Decide whether the binary log position that the source told is that of the tape's beginning."""

from datetime import UTC, datetime
from typing import Any


def without_late_position(server: dict[str, Any] | None, first_ns: int) -> dict[str, Any] | None:
    """Return `server` whose binary log position, where it was taken after the tape's first event, is named as unusable.

    Rolled forward to such a position, a copy would hold what the tape is about to do.
    """
    if not server or not (server.get("binlog") or server.get("gtid")):
        return server
    try:
        taken = datetime.fromisoformat(str(server.get("at")))
    except ValueError:
        taken = None
    if taken is not None and taken.tzinfo is not None and taken <= datetime.fromtimestamp(first_ns / 1e9, UTC):
        return server
    unusable = {key: server.get(key) for key in ("binlog", "gtid", "at")}
    return {**server, "binlog": None, "gtid": None, "unusable_position": unusable}


def position_sentence(server: Any, first_ns: int) -> str | None:
    """Return what is to be said of a position that is of no use, and how to find the right one."""
    unusable = server.get("unusable_position") if isinstance(server, dict) else None
    if not isinstance(unusable, dict):
        return None
    first = datetime.fromtimestamp(first_ns / 1e9, UTC)
    return (
        f"the binary log position was taken at {str(unusable.get('at'))[:19].replace('T', ' ')} UTC, after the tape's"
        " first event, and is of no use for a restore: find the one before it by time,"
        f" TZ=UTC mysqlbinlog --stop-datetime='{first:%Y-%m-%d %H:%M:%S}' BINLOG, and see docs/restore.md"
    )
