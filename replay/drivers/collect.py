# SPDX-License-Identifier: Apache-2.0
"""Add undelivered parts to their run after the lead process was lost or a driver lost its connection.

The command works on files only. It connects to no server and reads no statement. The parts stay unchanged. run.json is
written last, so an interrupted collect can be repeated.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import plain_reason, sql_files, write_parquet
from ...common.errors import FolderError, InputError, QuerytapeError
from ...common.files import hold, is_held, remove_folder, write_json
from ...schemas import Folder, open_folder
from ...schemas.json_shapes import check_shape, read_json
from ..observe.accounting import account, session_totals, summarise
from ..run_folder import open_storage
from ..summary import IN_ACCOUNTING, RunSummary, file_entries
from .merging import PARTS, lateness_of, whole_ticks

LATE = (
    "the lead process was lost during the run, so the target's counters end early. `querytape collect` merged the parts"
)


def collect(run: Path, parts: Sequence[Path] = (), tape_path: Path | None = None) -> RunSummary:
    """Add parts to their run and return the run. Parts in the run's own folder are included.

    `tape_path`: the tape of the run, if it is not at the path that the run names.

    Raises InputError if the run is still in progress or is not a run by several drivers. Also raises InputError for a
    part that is incomplete or belongs to another run. Raises QuerytapeError if files of the run cannot be read.
    """
    info = _read(run)
    if "driver_run" not in info:
        raise InputError(f"{run}: the run did not use several drivers, so there is nothing to collect")
    if is_held(run):
        raise InputError(f"{run}: the replay is still running: wait until it ends")
    given = {number: part for part in parts for number in [_number(part, info)]}
    there = {_number(path, info): path for path in sorted((run / PARTS).glob("*")) if (path / "run.json").exists()}
    wanted = _wanted(run, info, there | given)
    try:
        with hold(run), open_storage(run / "spill") as con:
            return _put(run, info, {number: (there | given)[number] for number in wanted}, con, tape_path)
    except duckdb.Error as error:
        raise QuerytapeError(f"{run}: cannot merge the parts: {plain_reason(error)}") from error
    finally:
        remove_folder(run / "spill")


def _read(path: Path) -> dict[str, Any]:
    """Return the content of run.json. Raises InputError."""
    try:
        info = read_json("run", path / "run.json")
        check_shape("run", path / "run.json", {**info, "finished": False})
    except FolderError as error:
        raise InputError(f"{path}: not a run: {error}") from error
    return info


def _number(part: Path, info: dict[str, Any]) -> int:
    """Return the driver number of a part. Raises InputError if the part is incomplete or belongs to another run."""
    mine = _read(part)
    about = mine.get("driver") or {}
    if about.get("run") != info["driver_run"]:
        raise InputError(f"{part}: not a part of this run")
    if not mine.get("finished"):
        raise InputError(f"{part}: the driver of this part is still running or was killed")
    return int(about["number"])


def _wanted(run: Path, info: dict[str, Any], there: Mapping[int, Path]) -> list[int]:
    """Return the drivers whose parts must be added.

    Raises InputError if a part is missing or all parts are already added.
    """
    replaced = {entry["replaces"] for entry in info["drivers"] if entry.get("replaces")}
    if "accounting" in info:  # the run already contains all other parts
        lost = [
            entry["number"]
            for entry in info["drivers"]
            if entry["lost"] and not entry.get("replaces") and entry["number"] not in replaced
        ]
        if refused := sorted(there.keys() & replaced):
            raise InputError(f"{run}: another driver replaced driver {refused[0]}, so its part cannot be added")
        if found := [number for number in lost if number in there]:
            return found
        named = ", ".join(f"driver {number}" for number in lost)
        if not lost:
            raise InputError(f"{run}: the run already contains all parts")
        raise InputError(f"{run}: add the part of {named} to the command line")
    if replaced:
        raise InputError(
            f"{run}: the lead process was lost after a new driver had replaced driver {min(replaced)}. The parts of"
            " such a run cannot be merged"
        )
    missing = [entry for entry in info["drivers"] if entry["number"] not in there]
    if missing:
        named = ", ".join(f"driver {entry['number']} ({entry['host']})" for entry in missing)
        raise InputError(f"{run}: the lead process was lost, so all parts are required. Missing: {named}")
    return [entry["number"] for entry in info["drivers"]]


def _put(
    run: Path,
    info: dict[str, Any],
    parts: Mapping[int, Path],
    con: duckdb.DuckDBPyConnection,
    tape_path: Path | None,
) -> RunSummary:
    infos = {number: _read(part) for number, part in parts.items()}
    whole = "accounting" not in info
    for number, part in parts.items():
        for old in () if whole else (run / "outcomes").glob(f"part-d{number:02d}-*.parquet"):
            old.unlink()
        for file in sorted((part / "outcomes").glob("part-*.parquet")):
            shutil.copy2(file, run / "outcomes" / f"part-d{number:02d}-{file.name.removeprefix('part-')}")
    _put_sessions(run, list(parts.values()), con)
    if whole and (ticks := [file for part in parts.values() if (file := part / "ticks.parquet").exists()]):
        write_parquet(con, whole_ticks(ticks), run / "ticks.parquet")
        remove_folder(run / "ticks")
    for entry in info["drivers"]:
        if entry["number"] in parts:
            entry.update(lost=None, sent_unknown=0, partial=infos[entry["number"]]["partial"])
    if whole:
        info.update(_of_all(list(infos.values())))
    tape = open_folder("tape", tape_path or Path(info["tape"]["path"]))
    _account(run, info, tape, list(infos.values()), con)
    write_json(run / "run.json", info)
    remove_folder(run / PARTS)
    totals = summarise(con, open_folder("run", run))
    return RunSummary(run, info, totals["late_p50_ns"], totals["late_p99_ns"], totals["errors"])


def _put_sessions(run: Path, parts: list[Path], con: duckdb.DuckDBPyConnection) -> None:
    files = [file for part in parts if (file := part / "sessions.parquet").exists()]
    if not files:
        return
    query = f"FROM read_parquet({sql_files(files)})"
    if (own := run / "sessions.parquet").exists():
        source = f"read_parquet({sql_files([own])})"
        query = f"{query} UNION ALL (FROM {source} ANTI JOIN ({query}) USING (session, clone))"
    write_parquet(con, f"FROM ({query}) ORDER BY session, clone", own)


def _of_all(infos: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run.json fields of a run whose lead process ended before it wrote these fields."""
    used = [one["generator"] for one in infos]
    sums = {name: sum(int(one[name]) for one in used) for name in ("cpu_ns", "engine_cpu_ns", "threads_peak")}
    highest = {name: max(int(one[name]) for one in used) for name in ("cores", "rss_peak_bytes")}
    return {
        "finished": True,
        "started_ns": min((one["started_ns"] for one in infos if one["started_ns"]), default=None),
        "lateness": lateness_of(infos),
        "generator": {**sums, **highest, "warnings": [LATE]},
        "drain": {name: max(int(one["drain"][name]) for one in infos) for name in ("waited_ns", "cut")},
        "clock_pairs": [],
        "speed_changes": [],
        "variables_changed": None,
        "summaries": [],
        "query_plans": 0,
        "problems_afterwards": [],
    }


def _account(
    run: Path, info: dict[str, Any], tape: Folder, infos: list[dict[str, Any]], con: duckdb.DuckDBPyConnection
) -> None:
    """Recompute the accounting over all files of the run."""
    before = info.get("accounting") or {}
    counts = {
        name: before.get(name, 0) + sum(one["accounting"].get(name, 0) for one in infos) for name in IN_ACCOUNTING
    }
    given = info["parameters"]
    folder = Folder("run", run, {**info, "finished": False})
    info["accounting"] = account(con, tape, folder, counts, given["amplify"] * given["loop"])
    info["accounting"]["sent_unknown"] = sum(entry.get("sent_unknown") or 0 for entry in info["drivers"])
    info["elapsed_ns"] = summarise(con, folder)["end_ns"]
    info["sessions"] = session_totals(con, folder)
    info["partial"] = (
        "; ".join(
            f"driver {entry['number']} {'was lost' if entry['lost'] else 'ended early'}: {why}"
            for entry in info["drivers"]
            if (why := entry["lost"] or entry["partial"])
        )
        or None
    )
    info["files"] = file_entries(folder, con)
