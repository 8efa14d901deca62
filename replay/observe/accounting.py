# SPDX-License-Identifier: Apache-2.0
"""Balance a run: events on the tape = executed + filtered + skipped + not sent. Reads only files.

Some sessions were already open when the tape began. This module also counts the results of the events that restore the
state of these sessions.
"""

from typing import Any

import duckdb

from ...common.duck import load_sql
from ...schemas import Folder
from ...schemas.names import FLAGS

STATUSES = ("executed", "filtered", "skipped", "not_sent")
CARRIED = f"flags & {FLAGS['carried']} <> 0"
CARRIED_OUTCOMES = """
SELECT o.status, o.reason, coalesce(o.errno, 0) AS errno, count(*)
FROM {outcomes} o SEMI JOIN (SELECT session, seq FROM {events} WHERE {carried}) e
    ON o.session = e.session AND o.seq = e.seq
GROUP BY ALL ORDER BY ALL
"""


def account(
    con: duckdb.DuckDBPyConnection,
    tape: Folder,
    run: Folder,
    engine_counts: dict[str, int],
    amplification: int = 1,
) -> dict[str, Any]:
    """Return `accounting` of run.json, including `engine_counts`.

    The accounting is balanced if each copy of each event has one outcome.
    """
    con.execute(f"SET VARIABLE copies = {amplification}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_events AS FROM {tape.source('events')}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW run_outcomes AS FROM {run.source('outcomes')}")
    (_, _, tape_events, tape_print), *rows = con.execute(load_sql(__package__, "accounting.sql")).fetchall()
    sums = dict.fromkeys(STATUSES, 0)
    reasons: dict[str, dict[str, int]] = {}
    for status, reason, n, _ in rows:
        sums[status] = sums.get(status, 0) + n
        if reason is not None:
            reasons.setdefault(status, {})[reason] = n
    counted = sum(sums[status] for status in STATUSES)
    return {
        "tape_events": tape_events,
        **sums,
        "reasons": reasons,
        "balanced": counted == tape_events and sum(row[3] for row in rows) == tape_print,
        **engine_counts,
    }


def summarise(con: duckdb.DuckDBPyConnection, run: Folder) -> dict[str, Any]:
    """Return the final values of a replay: end of the last event, quantiles of lateness, errors by number."""
    source = run.source("outcomes")
    end, p50, p99 = con.execute(
        "SELECT max(coalesce(done_ns, sent_ns)), approx_quantile(sent_ns - due_ns, 0.5),"
        f" approx_quantile(sent_ns - due_ns, 0.99) FROM {source} WHERE status = 'executed'"
    ).fetchall()[0]
    errors = con.execute(
        f"SELECT errno, count(*) FROM {source} WHERE errno <> 0 GROUP BY errno ORDER BY count(*) DESC, errno"
    ).fetchall()
    return {"end_ns": end or 0, "late_p50_ns": p50, "late_p99_ns": p99, "errors": dict(errors)}


def session_totals(con: duckdb.DuckDBPyConnection, run: Folder) -> dict[str, int]:
    """Return `sessions` of run.json, computed from the run's table of sessions."""
    row = con.execute(
        "SELECT count(connected_ns), count(*) FILTER (opened_ahead AND connected_ns IS NOT NULL),"
        " count(*) FILTER (connected_ns IS NULL AND errno <> 0),"
        " count(*) FILTER (connected_ns IS NOT NULL AND errno <> 0),"
        f" count(*) FILTER (in_transaction) FROM {run.source('sessions')}"
    ).fetchall()[0]
    return dict(zip(("opened", "opened_ahead", "failed", "lost", "in_transaction_at_end"), row, strict=True))


def count_restored(con: duckdb.DuckDBPyConnection, tape: Folder, run: Folder) -> dict[str, Any] | None:
    """Return `state` of run.json for the events that restore session state.

    The entry counts events that succeeded, that failed (by error number), and that were not sent (by reason). Returns
    None if the tape has no such events.
    """
    if not (tape.info.get("open_sessions") or tape.info.get("carried")):
        return None
    sql = CARRIED_OUTCOMES.format(outcomes=run.source("outcomes"), events=tape.source("events"), carried=CARRIED)
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
    """Return a warning line about state that could not be restored. Return no lines if all state was restored."""
    state = info.get("state") or {}
    parts = [f"{n:,} failed with error {errno}" for errno, n in state.get("failed", {}).items()]
    parts += [f"{n:,} not sent ({reason})" for reason, n in state.get("not_sent", {}).items()]
    if not parts:
        return []
    total = state["restored"] + sum(state["failed"].values()) + sum(state["not_sent"].values())
    return [
        "  WARNING: the replay did not restore the complete state of sessions. Statements for this purpose:"
        f" {total:,}, {', '.join(parts)}"
    ]
