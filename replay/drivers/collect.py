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
from ...schemas import Folder, open_folder, select_list
from ...schemas.json_shapes import check_shape, read_json
from ..observe.accounting import account, session_totals, summarise
from ..run_folder import open_storage
from ..summary import IN_ACCOUNTING, RunSummary, file_entries
from .lost import NOTHING, REASON, later_sessions, whole_chain, whole_files
from .merging import PARTS, lateness_of, part_path, whole_ticks
from .shares import part_of

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
    there = _own_parts(run, info)
    wanted = _wanted(run, info, there | given)
    try:
        with hold(run), open_storage(run / "spill") as con:
            opened = open_folder("tape", tape_path or Path(info["tape"]["path"]))
            return _put(run, info, {number: (there | given)[number] for number in wanted}, given, con, opened)
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


def _number(part: Path, info: dict[str, Any], may_be_killed: bool = False) -> int:
    """Return the driver number of a part. Raises InputError if the part is incomplete or belongs to another run.

    `may_be_killed`: the part may be incomplete if its driver ran on this machine and no longer runs.
    """
    mine = _read(part)
    about = mine.get("driver") or {}
    if about.get("run") != info["driver_run"]:
        raise InputError(f"{part}: not a part of this run")
    if not mine.get("finished") and (is_held(part) or not may_be_killed):
        raise InputError(f"{part}: the driver of this part is still running or was killed")
    return int(about["number"])


def _own_parts(run: Path, info: dict[str, Any]) -> dict[int, Path]:
    """Return the parts in the run's own folder by their numbers, without unfinished parts of replaced drivers.

    Raises InputError if the driver of another part still runs.
    """
    replaced = {part_path(run, entry["replaces"]) for entry in info["drivers"] if entry.get("replaces")}
    paths = [path for path in sorted((run / PARTS).glob("*")) if (path / "run.json").exists()]
    return {_number(path, info, True): path for path in paths if path not in replaced or _read(path).get("finished")}


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
    needed = [entry for entry in info["drivers"] if entry["number"] not in replaced]
    missing = [entry for entry in needed if entry["number"] not in there]
    if missing:
        named = ", ".join(f"driver {entry['number']} ({entry['host']})" for entry in missing)
        raise InputError(f"{run}: the lead process was lost, so all parts are required. Missing: {named}")
    return [entry["number"] for entry in needed]


def _chains(info: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the entries of each driver and of the drivers that replaced it, in order."""
    after = {entry.get("replaces"): entry for entry in info["drivers"]}
    chains = [[entry] for entry in info["drivers"] if not entry.get("replaces")]
    for chain in chains:
        while (entry := after.get(chain[-1]["number"])) is not None:
            chain.append(entry)
    return chains


def _put(
    run: Path,
    info: dict[str, Any],
    parts: Mapping[int, Path],
    given: Mapping[int, Path],
    con: duckdb.DuckDBPyConnection,
    tape: Folder,
) -> RunSummary:
    """Add the needed parts. `given`: all parts of the command line, also those of replaced drivers."""
    read = {number: _read(part) for number, part in parts.items()}
    infos = {number: mine for number, mine in read.items() if mine.get("finished")}
    if not infos:
        raise InputError(f"{run}: all drivers were killed, so no part is complete")
    whole = "accounting" not in info
    of_last = {chain[-1]["number"]: chain for chain in _chains(info) if whole}
    chains = {number: chain for number, chain in of_last.items() if len(chain) > 1 or number not in infos}
    begins = {entry["number"]: int(entry.get("begin_ns") or 0) for entry in info["drivers"]}
    for entry in info["drivers"]:
        if entry["number"] in infos:
            entry.update(lost=None, sent_unknown=0, partial=infos[entry["number"]]["partial"])
        elif entry["number"] in parts:
            entry.update(lost=entry["lost"] or "the driver was killed")
    for number, part in parts.items():
        for old in (run / "outcomes").glob(f"part-d{number:02d}-*.parquet"):
            old.unlink()
        if number in chains:
            _put_chain(run, chains[number], {**given, **parts}, info, con, tape)
            continue
        for file in sorted((part / "outcomes").glob("part-*.parquet")):
            shutil.copy2(file, run / "outcomes" / f"part-d{number:02d}-{file.name.removeprefix('part-')}")
    _put_sessions(run, {part: begins[number] for number, part in parts.items()}, con)
    ticks = [(file, begins[number]) for number, part in parts.items() if (file := part / "ticks.parquet").exists()]
    if whole and ticks:
        write_parquet(con, whole_ticks(ticks), run / "ticks.parquet")
        remove_folder(run / "ticks")
    if whole:
        info.update(_of_all(list(infos.values())))
    _account(run, info, tape, list(infos.values()), con)
    write_json(run / "run.json", info)
    remove_folder(run / PARTS)
    totals = summarise(con, open_folder("run", run))
    return RunSummary(run, info, totals["late_p50_ns"], totals["late_p99_ns"], totals["errors"])


def _put_chain(
    run: Path,
    chain: Sequence[dict[str, Any]],
    parts: Mapping[int, Path],
    info: dict[str, Any],
    con: duckdb.DuckDBPyConnection,
    tape: Folder,
) -> None:
    """Add the outcomes of a lost driver and of the drivers that replaced it. The other events were not sent.

    `parts`: known parts. The run's own folder has what the other drivers had delivered.
    """
    first, last = chain[0], chain[-1]
    sources = []
    for entry in chain:
        folder = parts.get(entry["number"], part_path(run, entry["number"])) / "outcomes"
        excluded = () if entry is not first else folder.glob("part-plan-*.parquet")
        sources.append((whole_files(sorted([*folder.glob("part-run-*.parquet"), *excluded]), con), entry["begin_ns"]))
    name = run / "outcomes" / f"part-d{last['number']:02d}"
    if any(files for files, _ in sources):
        write_parquet(con, whole_chain(sources), name.with_name(f"{name.name}-all.parquet"))
    there = sorted(name.parent.glob(f"{name.name}-*.parquet"))
    known = f"SELECT session, seq, clone FROM read_parquet({sql_files(there)})" if there else NOTHING
    copies = info["parameters"]["amplify"] * info["parameters"]["loop"]
    missing = (
        "SELECT session::BIGINT AS session, seq::BIGINT AS seq, clone::INTEGER AS clone, 'not_sent' AS status,"
        f" '{REASON}' AS reason FROM {part_of(tape, first['tapes']).source('events')}, range({copies}) AS c(clone)"
    )
    have = {"session", "seq", "clone", "status", "reason"}
    listed = select_list("run", "outcomes", have)
    query = f"SELECT {listed} FROM ({missing}) ANTI JOIN ({known}) AS known USING (session, seq, clone)"
    first["sent_unknown"] = write_parquet(con, query, name.with_name(f"{name.name}-end.parquet"))


def _put_sessions(run: Path, parts: Mapping[Path, int], con: duckdb.DuckDBPyConnection) -> None:
    """Add the sessions of parts. `parts`: each part, and when its driver began in ns since the start of the run."""
    files = [(file, begin_ns) for part, begin_ns in parts.items() if (file := part / "sessions.parquet").exists()]
    if not files:
        return
    query = " UNION ALL BY NAME ".join(later_sessions(file, begin_ns) for file, begin_ns in files)
    if (own := run / "sessions.parquet").exists():
        source = f"read_parquet({sql_files([own])})"
        query = f"({query}) UNION ALL BY NAME (FROM {source} ANTI JOIN ({query}) USING (session, clone))"
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
