# SPDX-License-Identifier: Apache-2.0
"""Makes tapes of transactions, and updates the file list in tape.json after a bench has changed the files of a tape."""

import json
from pathlib import Path

import duckdb

from ..common.duck import sql_text
from ..common.files import file_entry, write_json
from ..replay.calibrate import make_even_tape
from ..replay.run_folder import open_storage
from ..schemas import select_list

STATEMENTS = 4  # of a transaction: BEGIN, UPDATE, SELECT, COMMIT


def make_transactions(tape: Path, sessions: int, rounds: int, table: str, row: str, in_turn: bool = False) -> None:
    """Write a tape on which each session repeats BEGIN, UPDATE, SELECT and COMMIT.

    - `table`, `row`: SQL expressions with the session and seq of an event.
    - `in_turn`: each transaction begins after the transaction of the previous session. Otherwise, all sessions begin
      their transactions at the same time.
    """
    make_even_tape(tape, sessions, sessions * rounds * STATEMENTS, 20_000)
    part, listed = tape / "events" / "part-00000.parquet", tape / "sessions.parquet"
    step = f"(seq - 1) % {STATEMENTS}"
    number = f"((seq - 1) // {STATEMENTS} * {sessions} + session - 1) * {STATEMENTS} + {step}"
    start = f"(SELECT min(start_ns) FROM {sql_text(part)}) + ({number}) * 50000" if in_turn else "start_ns"
    text = (
        f"['BEGIN', 'UPDATE ' || {table} || ' SET v = v + 1 WHERE id = ' || {row},"
        f" 'SELECT v FROM ' || {table} || ' WHERE id = ' || {row}, 'COMMIT'][1 + {step}]"
    )
    kind = f"['transaction', 'write', 'read', 'transaction'][1 + {step}]"
    digest = f"lpad(to_hex(session * {STATEMENTS} + seq % {STATEMENTS}), 16, '0')"
    with open_storage(tape) as con:
        con.execute(
            f"CREATE TABLE e AS SELECT * REPLACE ({text}::BLOB AS statement, {kind} AS class,"
            f" [1, 0, 0, 2][1 + {step}]::BIGINT AS actions, {digest} AS digest, {start} AS start_ns,"
            f" 20000 AS duration_ns, 0 AS errno, 'shop' AS db) FROM {sql_text(part)}"
        )
        con.execute(f"COPY (FROM e ORDER BY start_ns) TO {sql_text(part)} (FORMAT parquet)")
        con.execute(
            "CREATE TABLE ends AS SELECT session, min(start_ns) AS f, max(start_ns) AS l FROM e GROUP BY session"
        )
        query = (
            f"SELECT s.* REPLACE (f AS first_ns, l AS last_ns) FROM {sql_text(listed)} AS s JOIN ends USING (session)"
        )
        con.execute(f"COPY ({query}) TO {sql_text(listed)} (FORMAT parquet)")
        rows = (
            "SELECT digest, any_value(class) AS class, digest AS normalized, 0 AS sample_bytes, count(*) AS events,"
            " min(start_ns) AS first_ns, max(start_ns) AS last_ns, any_value(actions) AS actions,"
            f" any_value(CASE class WHEN 'transaction' THEN [] ELSE [{table}] END) AS tables, []::VARCHAR[] AS calls"
            " FROM e GROUP BY digest"
        )
        have = {"digest", "class", "normalized", "sample_bytes", "events", "first_ns", "last_ns", "actions", "tables"}
        query = f"SELECT {select_list('tape', 'digests', have | {'calls'})} FROM ({rows})"
        con.execute(f"COPY ({query}) TO {sql_text(tape / 'digests.parquet')} (FORMAT parquet)")
    list_files(tape)


def list_files(tape: Path) -> None:
    """Update sizes, row counts and checksums in tape.json for the tape's only part and its tables."""
    info = json.loads((tape / "tape.json").read_text(encoding="utf-8"))
    with duckdb.connect() as con:

        def rows(file: Path) -> int:
            return int(con.execute(f"SELECT count(*) FROM {sql_text(file)}").fetchall()[0][0])

        part = tape / "events" / "part-00000.parquet"
        info["parts"] = [{**info["parts"][0], **file_entry(tape, part, rows(part))}]
        tables = [file for name in ("sessions", "digests") if (file := tape / f"{name}.parquet").exists()]
        info["tables"] = [file_entry(tape, file, rows(file)) for file in tables]
        info["counts"] |= {file.stem: rows(file) for file in tables}
    write_json(tape / "tape.json", info)
