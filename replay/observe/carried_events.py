# SPDX-License-Identifier: Apache-2.0
"""Count what became of the events that restore the state of sessions that were open before. Reads files alone."""

from typing import Any

import duckdb

from ...schemas import Folder
from ...schemas.names import FLAGS

CARRIED = f"flags & {FLAGS['carried']} <> 0"
OUTCOMES = """
SELECT o.status, o.reason, coalesce(o.errno, 0) AS errno, count(*)
FROM {outcomes} o SEMI JOIN (SELECT session, seq FROM {events} WHERE {carried}) e
    ON o.session = e.session AND o.seq = e.seq
GROUP BY ALL ORDER BY ALL
"""


def count_restored(con: duckdb.DuckDBPyConnection, tape: Folder, run: Folder) -> dict[str, Any] | None:
    """Return run.json's `state`: how many such events succeeded, failed by error number, were not sent by reason.

    None where the tape carries none.
    """
    if not (tape.info.get("open_sessions") or tape.info.get("carried")):
        return None
    sql = OUTCOMES.format(outcomes=run.source("outcomes"), events=tape.source("events"), carried=CARRIED)
    rows = con.execute(sql).fetchall()
    restored, failed, not_sent = 0, dict[str, int](), dict[str, int]()
    for status, reason, errno, n in rows:
        if status != "executed":
            not_sent[reason or status] = not_sent.get(reason or status, 0) + n
        elif errno:
            failed[str(errno)] = failed.get(str(errno), 0) + n
        else:
            restored += n
    return {"restored": restored, "failed": failed, "not_sent": not_sent}


def state_lines(info: dict[str, Any]) -> list[str]:
    """Return a line on what could not be restored, where there is anything."""
    state = info.get("state") or {}
    parts = [f"{n:,} failed with {errno}" for errno, n in state.get("failed", {}).items()]
    parts += [f"{n:,} not sent ({reason})" for reason, n in state.get("not_sent", {}).items()]
    if not parts:
        return []
    total = state["restored"] + sum(state["failed"].values()) + sum(state["not_sent"].values())
    return [f"  WARNING: of {total:,} statements that restore the state of sessions {', '.join(parts)}"]
