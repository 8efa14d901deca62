# SPDX-License-Identifier: Apache-2.0
"""Combine existing tapes in one folder into a set. Each tape is the capture of one server."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import load_sql, write_parquet
from ...common.errors import InputError
from ...common.files import file_entry, write_json
from ...common.version import __version__
from ...schemas import FORMAT_VERSION, Folder, columns, read_json, select_list, tape_id
from ...schemas.tape_set import DIGESTS, MAX_SESSION, SET, number_on
from ..storage import open_storage
from .derive import lost_together, one_measuring_point, open_finished, start_info


def gather(folder: Path) -> dict[str, Any]:
    """Make a set from the tapes in a folder, in the order of their names. Return the combined JSON of the tapes.

    The tapes are neither copied nor changed. Raises InputError if the folder has no tapes, a tape is unfinished, or the
    measuring points of durations differ.
    """
    if (folder / SET).exists():
        raise InputError(f"{folder}: the folder is already a set. Remove {SET} to rebuild the set")
    paths = sorted(path for path in folder.iterdir() if (path / "tape.json").is_file())
    if not paths:
        raise InputError(f"{folder}: expected a folder that contains tapes, found no tape")
    tapes = [open_finished(path) for path in paths]
    one_measuring_point(tapes)
    members = number_on(tapes, are_dealt=False)
    if members[-1].sessions > MAX_SESSION:
        found = members[-1].sessions
        raise InputError(f"{folder}: expected at most {MAX_SESSION:,} sessions in a set, found {found:,}")
    rows = " UNION ALL BY NAME ".join(
        f"SELECT *, {number} AS tape FROM {tape.source('digests')}" for number, tape in enumerate(tapes)
    )
    with open_storage(folder, largest=max(int(tape.info.get("largest_event") or 0) for tape in tapes)) as con:
        con.execute(f"CREATE VIEW all_digests AS {rows}")
        return write_set(con, folder, paths, _together(tapes), f"({load_sql(__package__, 'digests_of_all.sql')})")


def _together(tapes: Sequence[Folder]) -> dict[str, Any]:
    """Return the combined properties of all tapes in the form of a tape's JSON."""
    infos = [tape.info for tape in tapes]
    known = {name for info in infos for name in info.get("known_columns") or ()}
    kinds = sorted({kind for info in infos for kind in info.get("problems") or {}})
    counts = {what: sum(info["counts"][what] for info in infos) for what in ("events", "sessions", "problems")}
    warnings = [
        {"kind": warning["kind"], "text": f"{tape.path.name}: {warning['text']}"}
        for tape in tapes
        for warning in tape.info.get("warnings") or ()
    ]
    return {
        **start_info(tapes),
        **lost_together(tapes),
        "finished": True,
        "tables": [],
        "counts": {**counts, "digests": 0},
        "first_ns": min(info["first_ns"] for info in infos),
        "last_ns": max(info["last_ns"] for info in infos),
        "precision_ns": max(int(info.get("precision_ns") or 0) for info in infos),
        "problems": {kind: sum((info.get("problems") or {}).get(kind, 0) for info in infos) for kind in kinds},
        "known_columns": [name for name, _ in columns("tape", "events") if name in known],
        "warnings": warnings,
    }


def write_set(
    con: duckdb.DuckDBPyConnection,
    out: Path,
    tapes: Sequence[Path],
    info: dict[str, Any],
    digests: str,
    *,
    dealt_from: str | None = None,
) -> dict[str, Any]:
    """Write the files of a set, set.json last, and return the combined JSON. `digests`: an SQL table expression.

    `dealt_from`: id of the tape that was split, or None if the tapes are separate captures.
    """
    names = {name for name, _ in columns("tape", "digests")}
    query = f"SELECT {select_list('tape', 'digests', names)} FROM {digests} ORDER BY events DESC, digest"
    rows = write_parquet(con, query, out / DIGESTS, keep_empty=True)
    whole = {**info, "counts": {**info["counts"], "digests": rows}}
    write_json(
        out / SET,
        {
            "format_version": FORMAT_VERSION,
            "finished": True,
            "tool_version": __version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "dealt_from": dealt_from,
            "tapes": [{"folder": path.name, "id": tape_id(read_json("tape", path / "tape.json"))} for path in tapes],
            "digests": [file_entry(out, out / DIGESTS, rows)],
            "tape": whole,
        },
    )
    return whole
