# SPDX-License-Identifier: Apache-2.0
"""Writes the tape of quick mode: samples of another tape, repeated in laps, with the settings of their sessions."""

from collections.abc import Mapping
from math import log10
from pathlib import Path
from typing import Any

import duckdb

from ..capture.finish import finish
from ..capture.parts import part_entry
from ..capture.source import TapeWarning
from ..capture.storage import open_storage
from ..capture.tape_writer import new_tape
from ..capture.tools.derive import inherited_warnings, start_info
from ..common.duck import insert_rows, load_sql, open_database, write_parquet
from ..common.files import write_json
from ..replay.observe.query_plans import Place
from ..schemas import FLAGS, Folder, columns
from ..schemas.event_selection import define_macros
from .quick_selection import Questions, sentences

MEMORY = "1GB"
STEP_NS = 1_000_000
# Kinds of SET statements that are incomplete, or whose effect quick mode produces in another way.
NO_SETTING = ("use", "truncated", "redacted", "placeholder", "system", "routine", "unbound", "sql_prepare")


def write_quick_tape(
    tape: Folder, questions: Questions, laps: Mapping[Place, int], out: Path, costs: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Write the new tape `out` and return its JSON. `laps`: repetitions of each sample.

    `costs`: the ns per statement of each digest. Digests with costs of one order of magnitude are sent together, cheap
    ones first.

    The new tape has the events of the samples with their original properties. Its times only give the order. The tape
    is marked as partial and lists the excluded statements.
    """
    new_tape(out)
    info = {**start_info([tape]), "quick": {**questions.as_json(), "of_events": tape.tape_info["counts"]["events"]}}
    with open_database(out / "spill", MEMORY) as con:
        _write_events(con, tape, laps, out, costs or {})
        info["parts"] = [part_entry(con, out, out / "events" / "part-00000.parquet")]
        write_parquet(con, "FROM quick_sessions", out / "facts" / "part-00000.parquet")
    write_json(out / "tape.json", info)
    notes: list[TapeWarning] = [{"kind": "quick", "text": text} for text in sentences(info["quick"])]
    with open_storage(out, largest=info["largest_event"]) as con:
        info = finish(con, out, info, [])
    info["warnings"] = [*inherited_warnings([tape]), *notes]  # omits warnings about the new tape's artificial times
    write_json(out / "tape.json", info)
    return info


def _write_events(
    con: duckdb.DuckDBPyConnection, tape: Folder, laps: Mapping[Place, int], out: Path, costs: Mapping[str, float]
) -> None:
    """Write the events as a single part, and create the table quick_sessions."""
    define_macros(con)
    for table in ("events", "sessions"):
        con.execute(f"CREATE OR REPLACE TEMP VIEW tape_{table} AS FROM {tape.source(table)}")
    con.execute(
        "CREATE OR REPLACE TEMP TABLE quick_samples"
        " (number INTEGER, session BIGINT, seq BIGINT, laps BIGINT, weight INTEGER)"
    )
    rows = [
        (number, place.session, place.seq, n, int(log10(max(costs.get(place.digest, 1), 1))))
        for number, (place, n) in enumerate(laps.items(), 1)
        if n
    ]
    insert_rows(con, "quick_samples", rows)
    con.execute(f"SET VARIABLE laps = {max(laps.values())}")
    con.execute(f"SET VARIABLE no_setting_flags = {sum(FLAGS[name] for name in NO_SETTING)}")
    con.execute(load_sql(__package__, "quick_tape.sql"))
    query = _events_sql(int(tape.tape_info.get("first_ns") or 0))
    write_parquet(con, query, out / "events" / "part-00000.parquet")


def _events_sql(first_ns: int) -> str:
    """Return the query for the tape's events: the rows of quick_placed in order, with times from `first_ns` on."""
    changed = {
        "session": "p.new_session",
        "seq": "p.new_seq",
        "start_ns": f"{first_ns} + p.place * {STEP_NS}",
        "thread_id": "NULL",
        "stmt": "CASE WHEN e.stmt IS NOT NULL THEN p.number END",
    }
    names = ", ".join(
        f'CAST({changed[name]} AS {type_}) AS "{name}"' if name in changed else f'e."{name}"'
        for name, type_ in columns("tape", "events")
    )
    return (
        f"SELECT {names} FROM quick_placed p JOIN tape_events e ON e.session = p.session AND e.seq = p.seq"
        " ORDER BY p.place"
    )
