# SPDX-License-Identifier: Apache-2.0
"""Find the events that must be sent again.

These are events that failed in an earlier run, or events whose digests got slower in a report.
"""

import json
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import sql_text, write_parquet
from ...common.errors import FolderError, InputError
from ...schemas import Folder, ddl, open_folder, tape_id
from .rules import Plan

SLOWER = "slower"  # the verdict in a report's JSON


def find_picks(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write the events to send again to `plan.picks` and `plan.picked_sessions`.

    Raises InputError if the run or report belongs to another tape. Also raises InputError if no event failed or no
    digest got slower.
    """
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_events AS FROM {plan.source()}")
    selection = plan.rules.selection
    sources = []
    if selection.failed_in:
        failed = _run(selection.failed_in, plan.tape).source("outcomes")
        sources.append(f"SELECT DISTINCT session, seq FROM {failed} WHERE status = 'executed' AND errno <> 0")
    if selection.slower_in:
        digests = slower_digests(selection.slower_in, plan.tape)
        listed = ", ".join(map(sql_text, digests))
        sources.append(f"SELECT session, seq FROM tape_events WHERE digest IN ({listed})")
    con.execute(f"CREATE OR REPLACE TEMP TABLE found_picks AS {' UNION '.join(sources)}")
    companions = f"SELECT c.session, c.seq FROM ({ddl('companions')}) c JOIN found_picks p"
    companions += " ON c.session = p.session AND c.lead_seq = p.seq"
    if not write_parquet(con, f"FROM found_picks UNION {companions}", plan.picks):
        raise InputError(
            f"--failed-in {selection.failed_in}: no statement failed in this run, so there is nothing to replay"
        )
    picks = f"read_parquet({sql_text(plan.picks)})"
    write_parquet(con, f"SELECT session, max(seq) AS last_seq FROM {picks} GROUP BY session", plan.picked_sessions)
    con.execute(f"CREATE OR REPLACE TEMP VIEW picked AS FROM {picks}")
    con.execute("DROP TABLE found_picks")


def _run(path: Path, tape: Folder) -> Folder:
    try:
        run = open_folder("run", path)
    except FolderError as error:
        raise InputError(f"--failed-in: {error}") from error
    if run.info.get("tape", {}).get("id") != tape_id(tape.info):
        raise InputError(f"--failed-in {path}: the run belongs to another tape: {run.info.get('tape', {}).get('path')}")
    return run


def slower_digests(path: Path, tape: Folder) -> list[str]:
    """Return the slower digests of a report's JSON.

    Raises InputError if the report is invalid or belongs to another tape.
    """
    option = f"--slower-in {path}"
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        events, rows = report["tape"]["events"], report["digests"]
        events = report["tape"].get("samples_of_events", events)  # number of events on the tape that quick mode sampled
        found = [_digest(row) for row in rows if row["verdict"] == SLOWER]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{option}: expected the output of `querytape report --json`: {error}") from error
    if events != tape.info.get("counts", {}).get("events"):
        raise InputError(f"{option}: the report belongs to another tape: {report['tape'].get('path')}")
    if not found:
        raise InputError(f"{option}: the report lists no slower digest, so there is nothing to replay")
    return found


def _digest(row: Any) -> str:
    """Return the digest of a row. Raises ValueError if it is not a digest."""
    digest = str(row["digest"])
    if len(digest) != 16 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError(f"{digest[:40]!r} is not a digest")
    return digest
