# SPDX-License-Identifier: Apache-2.0
"""A tape that may be shown: each value in it replaced by a stand-in of its shape, the same one wherever it stands."""

import secrets
from pathlib import Path
from typing import Any

import duckdb

from ...errors import InputError
from ...native.standins import KEY_BYTES, Standins
from ...schemas import Folder, columns, open_folder, publish, sql_text, write_json
from ..finish import finish
from ..recorder import create_folder, open_storage
from .derive import gather, inherited, start, write_facts


def new_key() -> bytes:
    """Return a key that nobody else has."""
    return secrets.token_bytes(KEY_BYTES)


def read_key(path: Path) -> bytes:
    """Return the key in a file of 32 hexadecimal digits; a file that is not there is made, for its owner alone."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        text = secrets.token_hex(KEY_BYTES)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(text + "\n", encoding="ascii")
    except (OSError, ValueError) as fault:
        raise InputError(f"{path}: the key can't be read: {fault}") from fault
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(f"{path}: expected a key of {2 * KEY_BYTES} hexadecimal digits")
    return key


def redact(tape: Path, out: Path, key: bytes, accounts: bool = False) -> dict[str, Any]:
    """Write a tape with stand-ins for the values of one; return its JSON. `accounts`: for users and hosts, too.

    Raises InputError where the tape is not finished.
    """
    folder = open_folder("tape", tape)
    if not folder.finished:
        raise InputError(f"{tape}: not finished: run `querytape inspect {tape}` first, which completes it")
    create_folder(out)
    info = start([folder])
    standins = Standins(key)
    with open_storage(out) as con, duckdb.connect() as reading:
        reading.execute(
            "SET arrow_large_buffer_size = true; SET enable_progress_bar = false; SET memory_limit = '512MB'"
        )
        con.execute("SET enable_progress_bar = false")
        for number, part in enumerate(sorted((folder.path / "events").glob("part-*.parquet"))):
            info["parts"].append(_write_part(con, reading, standins, part, out, number, accounts))
        gather(con, [folder])
        if accounts:
            _replace_accounts(con, reading, standins, folder)
        write_facts(con, out)
    info["files"] = [{**entry, "path": f"file {number}"} for number, entry in enumerate(info["files"])]
    info["input"] = {}
    info["redacted"] = True
    write_json(out / "tape.json", info)
    return finish(out, info, inherited([folder]))


def _write_part(
    con: duckdb.DuckDBPyConnection,
    reading: duckdb.DuckDBPyConnection,
    standins: Standins,
    part: Path,
    out: Path,
    number: int,
    accounts: bool,
) -> dict[str, Any]:
    """Write one part with its values replaced; return its entry."""
    source = f"read_parquet({sql_text(part)})"
    who = ', "user", host' if accounts else ""
    relation = reading.sql(f"SELECT session, seq, statement, params, error{who} FROM {source}")
    stream = standins.replace(relation, "llspm" + ("tt" if accounts else ""))
    con.register("stand_ins", stream)
    final = out / "events" / f"part-{number:05d}.parquet"
    swaps = "r.c2 AS statement, r.c3 AS params, r.c4 AS error" + (', r.c5 AS "user", r.c6 AS host' if accounts else "")
    names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
    with publish(final) as temporary:
        con.execute(
            f"COPY (SELECT {names} FROM (SELECT e.* REPLACE ({swaps}) FROM {source} e"
            " JOIN stand_ins r ON e.session = r.c0 AND e.seq = r.c1) ORDER BY start_ns, session, seq)"
            f" TO {sql_text(temporary)} (FORMAT parquet, COMPRESSION zstd)"
        )
    con.unregister("stand_ins")
    stream.close()
    rows, first, last = con.execute(
        f"SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0)) FROM read_parquet({sql_text(final)})"
    ).fetchall()[0]
    size = final.stat().st_size
    return {"file": f"events/{final.name}", "rows": rows, "bytes": size, "first_ns": first, "last_ns": last}


def _replace_accounts(
    con: duckdb.DuckDBPyConnection, reading: duckdb.DuckDBPyConnection, standins: Standins, folder: Folder
) -> None:
    """Replace users and hosts in what is handed on about sessions; what clients say of themselves is left out."""
    source = folder.source("sessions")
    stream = standins.replace(reading.sql(f'SELECT session, "user", host FROM {source}'), "ltt")
    con.register("stand_ins", stream)
    con.execute("CREATE TABLE accounts AS SELECT * FROM stand_ins")
    con.unregister("stand_ins")
    stream.close()
    con.execute(
        'CREATE OR REPLACE VIEW sessions0 AS SELECT s.* REPLACE (a.c1 AS "user", a.c2 AS host,'
        " NULL::VARCHAR AS attributes)"
        f" FROM (SELECT * FROM {source}) s JOIN accounts a ON s.session = a.c0"
    )
