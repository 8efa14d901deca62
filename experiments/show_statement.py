# SPDX-License-Identifier: Apache-2.0
"""Shows one statement of a digest with its values and its results. Prefers the first failed execution."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ..analyze.run_set import open_run
from ..capture.literals import define_texts
from ..common.duck import load_sql, open_database
from ..common.errors import InputError, OptionError
from ..schemas import Folder, open_folder
from ..schemas.event_selection import define_macros

MAX_LISTED = 5


@dataclass(frozen=True)
class ShownStatement:
    """One execution of a digest: why it was selected, its statement, and its results on the tape and in each run.

    `event` has the columns of event_texts.sql. `outcomes` is {side or "tape": (errno, message, rows)}, without sides
    that did not execute the statement. The rows of a write are the changed rows. `counts`: executions of the digest on
    the tape, and failures by side. None = unknown.
    """

    why: str
    normalized: str
    event: dict[str, Any]
    outcomes: dict[str, tuple[int, str | None, int | None]]
    counts: dict[str, int | None]


def show_statement(tape_path: Path, runs: Mapping[str, Sequence[Path]], digest: str) -> ShownStatement:
    """Return an execution of a digest, given by the first characters of its id.

    `runs`: the rounds of each side. Executions that failed only in B have priority, then failures in B, in A, and on
    the tape. If none failed, the slowest execution is chosen. Raises InputError if no digest or several digests match.
    """
    tape = open_folder("tape", tape_path)
    folders = {side: [open_run(tape, path) for path in paths] for side, paths in runs.items()}
    with open_database(memory=None) as con:
        _define(con, tape, folders)
        whole, normalized = _find_digest(con, digest, tape)
        con.execute("SET VARIABLE shown_digest = $1", [whole])
        rows = _rows(con, load_sql(__package__, "show_statement.sql"))
        if not rows:
            raise InputError(f"{tape.path}: digest {whole} was never executed, so the tape contains no statement of it")
        found = rows[0]
        at = {"session": found["session"], "seq": found["seq"]}
        (event,) = _rows(con, "FROM event_texts WHERE session = $session AND seq = $seq", at)
        counted = "changed" if event["class"] == "write" else "sent"
        said = _rows(
            con,
            f"SELECT side, errno, error, {counted} AS rows FROM said"
            " WHERE session = $session AND seq = $seq AND errno IS NOT NULL ORDER BY round DESC",
            at,
        )
    outcomes = {row["side"]: (row["errno"], row["error"], row["rows"]) for row in said}
    counts = {name.removesuffix("_count"): found[name] for name in found if name.endswith("_count")}
    return ShownStatement(found["why"], normalized, event, outcomes, counts)


def _define(con: duckdb.DuckDBPyConnection, tape: Folder, folders: Mapping[str, Sequence[Folder]]) -> None:
    """Make views tape_events, event_texts, and `said`: the results of each event on the tape and in each run."""
    define_macros(con)
    con.execute(f"CREATE TEMP VIEW tape_events AS FROM {tape.source('events')}")
    define_texts(con)
    parts = [
        "SELECT 'tape' AS side, 1 AS round, session, seq, errno, error, rows_sent AS sent, rows_affected AS changed"
        " FROM tape_events"
    ]
    parts += [
        f"SELECT '{side}', {number}, session, seq, errno, error, rows_sent, rows_affected FROM {run.source('outcomes')}"
        " WHERE status = 'executed' AND clone = 0"
        for side, rounds in folders.items()
        for number, run in enumerate(rounds, 1)
    ]
    con.execute(f"CREATE TEMP VIEW said AS {' UNION ALL '.join(parts)}")


def _find_digest(con: duckdb.DuckDBPyConnection, digest: str, tape: Folder) -> tuple[str, str]:
    """Return a digest and its normalised statement. Raises InputError."""
    begin = digest.strip().lower()
    if not re.fullmatch(r"[0-9a-f]{1,16}", begin):
        raise OptionError(f"--show: expected up to 16 hexadecimal digits of a digest, found {digest!r}")
    found = con.execute(
        f"SELECT digest, normalized FROM {tape.source('digests')} WHERE starts_with(digest, $1) ORDER BY events DESC",
        [begin],
    ).fetchall()
    if not found:
        raise InputError(f"--show {begin}: no digest of {tape.path} begins with these digits")
    if len(found) > 1:
        listed = "; ".join(f"{name} {text[:50]}" for name, text in found[:MAX_LISTED])
        raise InputError(f"--show {begin}: {len(found)} digests begin with these digits. Give more digits: {listed}")
    return found[0]


def _rows(
    con: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    cursor = con.execute(query, dict(parameters) if parameters else None)
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
