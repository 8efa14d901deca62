# SPDX-License-Identifier: Apache-2.0
"""Say before a recording begins what it will not have, what stays behind, and how much may be written."""

from collections.abc import Sequence
from pathlib import Path

from ...common.units import megabytes
from ...servers.facts import Facts
from .settings import CONTROL, COPIED, GLOBAL_CONTROL, HOLD, Change, same

BYTES_PER_STATEMENT = 300  # an entry's header and a short statement


def plan_notes(
    facts: Facts, method: str, changes: Sequence[Change], log_file: Path | None, max_disk: int
) -> tuple[str, ...]:
    """Return the sentences, each whole in itself."""
    notes = _not_logged(facts, method)
    where = f"{log_file}, which is removed at the end" if log_file else f"mysql.{_table(method)}, where its rows stay"
    notes.append(f"at most about {megabytes(max_disk)} (--max-disk) are written, to {where}{_rate(facts)}")
    if method == "table":
        notes.append("log_output TABLE ignores log_slow_extra (mysql.slow_log has no columns for it): no error numbers")
    notes += _shared_output(facts, changes)
    return (*notes, *_stays_behind(facts, changes))


def _not_logged(facts: Facts, method: str) -> list[str]:
    if method == "general":
        return ["the general log has no durations, rows or errors"]
    open_now = (facts.connected or 1) - 1
    if open_now <= 0 or GLOBAL_CONTROL in facts.variables:
        return []
    return [f"{open_now} connections are open: this server logs their statements only after they connect again"]


def _table(method: str) -> str:
    return "general_log" if method == "general" else "slow_log"


def _rate(facts: Facts) -> str:
    """Return how fast that is at the server's mean rate since its start, in brackets; empty where it is unknown."""
    if not facts.statements_per_s:
        return ""
    grows = f"{facts.statements_per_s * BYTES_PER_STATEMENT / 1e6:,.2f}"
    return f" (some {grows} MB/s at this server's mean of {facts.statements_per_s:,.0f} statements a second)"


def _shared_output(facts: Facts, changes: Sequence[Change]) -> list[str]:
    """Return what a changed log_output means for a general log that is on."""
    moved = any(change.name == "log_output" for change in changes)
    switched = any(change.name == "general_log" for change in changes)
    if moved and not switched and same(facts.variables.get("general_log", "OFF"), "ON"):
        return ["the server's general log is on: meanwhile it goes where log_output says, too"]
    return []


def _stays_behind(facts: Facts, changes: Sequence[Change]) -> list[str]:
    """Return what sessions keep that connect meanwhile, and what they may write afterwards."""
    if not any(change.name in COPIED for change in changes):
        return []
    kept = "sessions that connect meanwhile keep long_query_time = 0 until they disconnect"
    own = facts.variables.get("slow_query_log_file", "?")
    if any(change.role == HOLD for change in changes):
        return [
            f"the server's own slow log ({own}) is on: it gets nothing meanwhile",
            f"{kept} and would then write every statement into it: it stays off until they are gone, and after --watch"
            " until --restore, unless --log-again; --end-sessions ends the idle ones",
        ]
    if any(change.role == CONTROL for change in changes):
        return [f"{kept}: {GLOBAL_CONTROL} stays 'all' until they are gone, so they use the global threshold"]
    return [f"{kept}; they write nothing then, for the slow log is off again"]
