# SPDX-License-Identifier: Apache-2.0
"""What is left of a damaged tape, as a new tape that is whole and says what it lacks."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb

from ... import __version__
from ...errors import InputError
from ...schemas import FORMAT_VERSION, columns, sql_text, write_json
from ..finish import finish
from ..recorder import create_folder, open_storage
from .derive import write_facts, write_parts


def salvage(tape: Path, out: Path) -> dict[str, Any]:
    """Write a tape of the events that can still be read; return its JSON. Raises InputError where there are none."""
    info = _json(tape)
    parts = sorted((tape / "events").glob("part-*.parquet"))
    create_folder(out)
    with open_storage(out) as con:
        readable = [part for part in parts if _is_readable(con, part)]
        if not readable:
            shutil.rmtree(out)
            raise InputError(f"{tape}: no part of its events can be read: nothing can be saved")
        listed = ", ".join(sql_text(part) for part in readable)
        names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
        con.execute(
            f"CREATE VIEW everything AS SELECT {names}"
            f" FROM read_parquet([{listed}], file_row_number = true, filename = true)"
            " QUALIFY row_number() OVER (PARTITION BY session, seq ORDER BY filename, file_row_number) = 1"
        )
        con.execute("CREATE TABLE shifts AS SELECT 0 AS tape, 0 AS sessions, 0 AS files")
        _show_sessions(con, tape)
        new = _start(con, info)
        new["parts"] = write_parts(con, out, "true")
        write_facts(con, out)
    write_json(out / "tape.json", new)
    entries = info.get("parts", [])
    lost = [part.name for part in parts if part not in readable]
    lost += [name for entry in entries if not (tape / (name := str(entry.get("file")))).exists()]
    text = f"saved from a damaged tape; lost: {', '.join(lost) or 'nothing that is known of'}"
    return finish(out, new, [*info.get("warnings", []), {"kind": "salvaged", "text": text}])


def _json(tape: Path) -> dict[str, Any]:
    """Return what can be had of tape.json."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads((tape / "tape.json").read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _is_readable(con: duckdb.DuckDBPyConnection, part: Path) -> bool:
    """Read all of a part; return whether it could be, with the columns that events have."""
    names = ", ".join(f'count("{name}")' for name, _ in columns("tape", "events"))
    try:
        con.execute(f"SELECT {names}, sum(octet_length(statement)) FROM read_parquet({sql_text(part)})").fetchall()
    except duckdb.Error:
        return False
    return True


def _show_sessions(con: duckdb.DuckDBPyConnection, tape: Path) -> None:
    """Make view sessions0 what the tape still knows of its sessions, or no row."""
    facts = ", ".join(f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in columns("tape", "sessions"))
    try:
        con.execute(f"CREATE VIEW sessions0 AS SELECT * FROM read_parquet({sql_text(tape / 'sessions.parquet')})")
        con.execute("SELECT count(session), count(attributes), count(encrypted) FROM sessions0").fetchall()
    except duckdb.Error:
        con.execute(f"CREATE OR REPLACE VIEW sessions0 AS SELECT {facts} WHERE false")


def _start(con: duckdb.DuckDBPyConnection, info: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of the new tape."""
    kept = ("created", "measuring_point", "server_version", "source", "server", "log_timezone_ns")
    files = info.get("files")
    if not files:
        most = con.execute("SELECT max(file) FROM everything").fetchall()[0][0]
        files = [{"path": f"file {number}"} for number in range(most + 1)]
    return {
        **{key: info.get(key) for key in kept},
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "finished": False,
        "files": files,
        "parts": [],
        "input": info.get("input", {}),
    }
