# SPDX-License-Identifier: Apache-2.0
"""Pass sessions that were open before a capture to the reader, with their state, and describe them for the tape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from ..common.units import plural
from ..native.bindings.inputs import STDIN
from ..native.bindings.known_sessions import KnownSessions
from ..native.bindings.reader import Reader
from ..schemas.names import FLAGS
from ..servers.client_sessions import PREPARED_STATEMENTS as PREPARED
from ..servers.client_sessions import OpenSessions
from .session_state import State, count_not_restored, state_of
from .source import TapeWarning

KNOWN = 4  # flag of `reading`: the value comes from the session itself

CARRIED = f"SELECT count(*), count(*) FILTER (command = 'prepare') FROM events WHERE flags & {FLAGS['carried']} <> 0"
FOUND = "SELECT count(DISTINCT thread_id) FROM events WHERE thread_id IN (SELECT unnest(?::BIGINT[]))"
# Sources that identify sessions by the server's connection id or by the client address.
KINDS = frozenset({"packets", "slowlog", "general", "audit"})
REASONS = {
    "no_text": "prepared statements whose full text the server does not show",
    "large_variable": "user variables above the total size limit",
    "no_room": "prepared statements that performance_schema had no room for",
}


@dataclass(frozen=True)
class HandedOver:
    """The sessions that were passed to a reader, by thread id. `refused`: reason why no session was passed, or ""."""

    sessions: Sequence[int]
    not_restored: Mapping[str, int]
    not_shown: Sequence[str]
    refused: str = ""


def hand_over(reader: Reader, known: OpenSessions, files: Sequence[str]) -> HandedOver:
    """Pass the open sessions of a server to a reader before its first part."""
    if refused := server_is_another(known, files):
        return HandedOver((), {}, (), refused)
    states = [state_of(one, known.global_variables) for one in known.sessions]
    native = KnownSessions()
    try:
        for one, state in zip(known.sessions, states, strict=True):
            charset = None if one.collation is None else str(one.collation)
            known_mode = not files and "sql_mode" in (one.variables or {})  # after the files, it is too late
            reading = state.reading | (KNOWN if known_mode else 0)
            native.add(one.thread_id, one.address, one.port, one.user, one.db, charset, reading)
            for id_, text in state.statements:
                native.add_statement(id_, text)
        reader.know_sessions(native)
    finally:
        native.close()
    ids = [one.thread_id for one in known.sessions]
    return HandedOver(ids, all_not_restored(states, known), tuple(known.not_shown))


def all_not_restored(states: Sequence[State], known: OpenSessions) -> dict[str, int]:
    """Return how many statements and values cannot be restored, by reason."""
    counts = count_not_restored(states)
    return counts | ({"no_room": known.lost} if known.lost else {})


def server_is_another(known: OpenSessions, files: Sequence[str]) -> str:
    """Return a message if the server was started after the files were written. Return "" otherwise.

    The open sessions of such a server do not belong to the files.
    """
    times = [Path(name).stat().st_mtime for name in files if name != STDIN and Path(name).is_file()]
    if known.started_s is None or not times or known.started_s <= max(times):
        return ""
    return (
        "the server started after the captured files were written, so the sessions from before the capture are unknown"
    )


def describe_state(
    con: duckdb.DuckDBPyConnection, given: HandedOver, tape: Mapping[str, Any], first_ns: int | None
) -> tuple[dict[str, Any], list[str], list[TapeWarning]]:
    """Return the `open_sessions` entry of tape.json, notes for the summary, and warnings.

    `con` has view `events`. `tape` is the current JSON of the tape.
    """
    if given.refused:
        return {}, [], [{"kind": "open_sessions", "text": given.refused}]
    carried, prepared = con.execute(CARRIED).fetchall()[0]
    found = con.execute(FOUND, [list(given.sessions)]).fetchall()[0][0]
    after = is_after(tape.get("server"), first_ns)
    info = {
        "sessions": len(given.sessions),
        "found": found,
        "carried": carried,
        "prepared": prepared,
        "asked": "after" if after else "before",
        "not_restored": dict(given.not_restored),
        "not_shown": list(given.not_shown),
    }
    notes = []
    if given.sessions:
        notes.append(
            f"sessions open on the source: {len(given.sessions):,}. The tape contains {found:,} of these sessions, and"
            f" {plural(carried, 'statement')} that restore their state (prepared statements: {prepared:,})"
        )
    if after and carried:
        notes.append(
            "querytape read the state of open sessions after the traffic. Settings that a session changed later apply"
            " from the start of the tape"
        )
    if given.not_shown and given.sessions:
        notes.append(
            f"state that the server does not show for sessions from before the capture: {', '.join(given.not_shown)}"
        )
    lacking = [f"{n:,} {REASONS[reason]}" for reason, n in given.not_restored.items() if n]
    if PREPARED in given.not_shown and tape.get("source") == "packets" and found:
        lacking.append(f"the prepared statements of {plural(found, 'session')} (not in performance_schema)")
    warnings = [{"kind": "open_sessions", "text": f"not restored: {'; '.join(lacking)}"}] if lacking else []
    return {"open_sessions": info}, notes, warnings


def is_after(server: Mapping[str, Any] | None, first_ns: int | None) -> bool:
    """Return whether the server was described after the first event of the tape."""
    try:
        asked = datetime.fromisoformat(str((server or {}).get("at"))).timestamp()
    except ValueError:
        return True
    return first_ns is not None and asked * 1e9 > first_ns
