# SPDX-License-Identifier: Apache-2.0
"""Make a valid tape from the readable parts of a damaged tape. A warning lists the lost parts."""

import contextlib
import json
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import open_database, sql_files, sql_text
from ...common.errors import FolderError, InputError
from ...common.files import open_regular, whole_or_removed, write_json
from ...common.version import __version__
from ...schemas import FORMAT_VERSION, check_parquet, columns, select_list
from ...schemas.json_shapes import MAX_BYTES, fitting_keys
from ..finish import finish
from ..storage import open_storage
from ..tape_writer import new_tape
from .derive import UNCHANGED, write_facts, write_parts


def salvage(tape: Path, out: Path) -> dict[str, Any]:
    """Write a tape of the readable events and return its JSON. Raises InputError if no part is readable."""
    if not (tape / "events").exists() and next(tape.glob("*/tape.json"), None):
        raise InputError(
            f"{tape} is a folder of tapes. Run `querytape tape verify {tape}/NAME --salvage NEW.tape` for the damaged"
            " tape, then `querytape tape set` for all tapes"
        )
    old = _json(tape)
    parts = sorted((tape / "events").glob("part-*.parquet"))
    new_tape(out)
    with whole_or_removed(out), open_database(memory=None) as con:
        largest = {part: size for part in parts if (size := _largest_event(con, part)) is not None}
        if not largest:
            raise InputError(f"{tape}: no file of events can be read, so nothing can be salvaged")
    readable = list(largest)
    with whole_or_removed(out), open_storage(out, largest=max(largest.values())) as con:
        _make_views(con, tape, readable)
        info = _start_info(con, old) | {"largest_event": max(largest.values())}
        con.execute(f"CREATE VIEW kept_events AS {UNCHANGED}")
        info["parts"] = write_parts(con, out, "kept_events")
        write_facts(con, out)
        write_json(out / "tape.json", info)
        lost = [part.name for part in parts if part not in readable]
        lost += [name for entry in old.get("parts", []) if not (tape / (name := str(entry.get("file")))).exists()]
        text = f"this tape was salvaged from a damaged tape. Lost files: {', '.join(lost) or 'none known'}"
        return finish(con, out, info, [*old.get("warnings", []), {"kind": "salvaged", "text": text}])


def _json(tape: Path) -> dict[str, Any]:
    """Return the content of tape.json. Return an empty object if the file is missing or damaged."""
    with contextlib.suppress(InputError, ValueError, RecursionError), open_regular(tape / "tape.json") as handle:
        info = json.loads(handle.read(MAX_BYTES).decode("utf-8"))
        if isinstance(info, dict):
            return fitting_keys("tape", info)
    return {}


def _largest_event(con: duckdb.DuckDBPyConnection, part: Path) -> int | None:
    """Read a whole part and return the size of its largest event in bytes.

    Returns None if the part is unreadable or lacks event columns.
    """
    names = ", ".join(f'count("{name}")' for name, _ in columns("tape", "events"))
    size = " + ".join(f"coalesce(octet_length({name}), 0)" for name in ("statement", "params"))
    try:
        check_parquet("tape", "events", [part])
        found = con.execute(f"SELECT coalesce(max({size}), 0), {names} FROM read_parquet({sql_text(part)})").fetchall()
    except (duckdb.Error, FolderError):
        return None
    return int(found[0][0])


def _make_views(con: duckdb.DuckDBPyConnection, tape: Path, parts: list[Path]) -> None:
    """Create the views `everything` and `sessions0`, and table `shifts`.

    `everything` has each event of the parts once. `sessions0` is empty if the sessions are lost.
    """
    names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
    read = f"read_parquet({sql_files(parts)}, file_row_number = true, filename = true, union_by_name = true)"
    con.execute(
        f"CREATE VIEW everything AS SELECT {names}"
        f" FROM {read}"
        " QUALIFY row_number() OVER (PARTITION BY session, seq ORDER BY filename, file_row_number) = 1"
    )
    con.execute("CREATE TABLE shifts AS SELECT 0 AS tape, 0 AS sessions, 0 AS files")
    try:
        check_parquet("tape", "sessions", [tape / "sessions.parquet"])
        con.execute(f"CREATE VIEW sessions0 AS SELECT * FROM read_parquet({sql_text(tape / 'sessions.parquet')})")
        con.execute("SELECT count(session), count(attributes), count(encrypted) FROM sessions0").fetchall()
    except (duckdb.Error, FolderError):
        empty = select_list("tape", "sessions", set())
        con.execute(f"CREATE OR REPLACE VIEW sessions0 AS SELECT {empty} WHERE false")


def _start_info(con: duckdb.DuckDBPyConnection, old: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of the new tape before its first part."""
    kept = ("created", "measuring_point", "server_version", "source", "server", "log_timezone_ns")
    files = old.get("files")
    if not files:
        last = con.execute("SELECT max(file) FROM everything").fetchall()[0][0]
        files = [{"path": f"file {number}"} for number in range(last + 1)]
    return {
        **{key: old.get(key) for key in kept},
        "source": old.get("source") or "unknown",
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "finished": False,
        "files": files,
        "parts": [],
        "input": old.get("input", {}),
    }
