# SPDX-License-Identifier: Apache-2.0
"""Make the tape of a recorded log: without the tool's own statements, and with how much of the workload it holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from ...common.errors import InputError
from ...native.bindings.reader import ReaderStats
from ...servers.open_sessions import OpenSessions
from ..live import LiveCapture
from ..pipeline import capture_source
from ..source import Settings, TapeWarning
from ..source_table import SOURCES
from .coverage import Coverage, measure_coverage
from .logging_plan import LoggingPlan
from .recording import Recorded
from .settings import GLOBAL_CONTROL

# Sessions of before the capture of which the log has statements that were too short for their own threshold.
CHANGED = "SELECT DISTINCT thread_id FROM events WHERE thread_id <= ? AND duration_ns < ?"
UNKNOWN = [
    {
        "kind": "coverage_unknown",
        "text": "the server did not say how much it executed in that time: how much of it the log holds is unknown",
    }
]


def tape_of(
    recorded: Recorded,
    plan: LoggingPlan,
    output: Path,
    server: dict[str, Any],
    watch: Callable[[ReaderStats, int | None], None],
    open_sessions: OpenSessions | None = None,
    running: Callable[[LiveCapture], None] = lambda live: None,
) -> tuple[dict[str, Any], frozenset[int]]:
    """Write the tape; return its JSON, and the sessions of before the capture whose log shows that they carry it.

    `open_sessions`: those of before, as the server showed them then. `running` gets the capture when it begins.

    Raises InputError where the log holds nothing.
    """
    seen: set[int] = set()

    def judge(con: duckdb.DuckDBPyConnection) -> tuple[dict[str, Any], list[TapeWarning]]:
        seen.update(sessions_changed(con, recorded, plan))
        renewed = {"renewed": recorded.renewal.as_json()} if recorded.renewal.rate else {}
        coverage = coverage_of(con, recorded, plan)
        if coverage is None:
            text = "the server did not say how much it executed in that time: how much of it the log holds is unknown"
            return {"coverage": None} | renewed, [
                {"kind": "coverage_unknown", "text": text}
            ] if plan.method != "general" else []
        return {"coverage": coverage.as_json()} | renewed, coverage.warnings(plan.method)

    settings = Settings(
        server=server,
        extra={"changed": tuple(change.name for change in plan.changes)},
        watch=watch,
        not_threads=tuple(sorted(recorded.own)),
        judge=judge,
        open_sessions=open_sessions,
        running=running,
    )
    try:
        info = capture_source(SOURCES[recorded.kind], [str(recorded.log)], output, settings)
    except InputError as error:
        coverage = coverage_of(None, recorded, plan)
        told = "; ".join(warning["text"] for warning in coverage.warnings(plan.method)) if coverage else ""
        raise InputError(": ".join(filter(None, (str(error), told, recorded.renewal.sentence())))) from error
    return info, frozenset(seen)


def coverage_of(con: duckdb.DuckDBPyConnection | None, recorded: Recorded, plan: LoggingPlan) -> Coverage | None:
    """Return how much of what the server executed is in the log, None where it did not say."""
    if recorded.before is None or recorded.after is None:
        return None
    version = plan.facts.version
    logs_errors = "MariaDB" in version or version.startswith("5.") or plan.method == "general"
    return measure_coverage(recorded.before, recorded.after, con, recorded.own, logs_errors)


def sessions_changed(con: duckdb.DuckDBPyConnection, recorded: Recorded, plan: LoggingPlan) -> set[int]:
    """Return sessions of before the capture that carry its threshold now: a reset or a change of user copied it.

    Percona Server's global control logs them without that, and shows who carries what.
    """
    before = next((change.before for change in plan.changes if change.name == "long_query_time"), None)
    if before is None or GLOBAL_CONTROL in plan.facts.variables:
        return set()
    rows = con.execute(CHANGED, [recorded.saved.first_id, int(float(before) * 1e9)]).fetchall()
    return {row[0] for row in rows if row[0] is not None}
