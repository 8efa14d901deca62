# SPDX-License-Identifier: Apache-2.0
"""A folder of runs that is reported as one run: each run replayed one tape of a set.

    big.runs/01.run/   the run of big.set/01.tape
    big.runs/02.run/   the run of big.set/02.tape

The runs began at the same time (--start-at), so their times count from the same zero.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..common.errors import InputError
from ..common.staged import full_name
from ..schemas import Folder, open_folder
from ..schemas.folders import tape_id
from ..schemas.tape_set import Member, TapeSet

# Tables with a row per event or session. Each run has the others for the same server, so one run's rows are enough.
SHARED = ("outcomes", "sessions", "texts")
NUMBERED = ("outcomes", "sessions")
OWN_PARAMETERS = {"start_at_ns", "sample_ns", "host_metrics", "queue_bytes", "timer_probes", "connect_timeout_s"}


@dataclass(frozen=True)
class RunSet(Folder):
    """The runs of the tapes of a set. `shifts`: what is added to the session numbers of each run."""

    runs: tuple[Folder, ...] = ()
    shifts: tuple[int, ...] = ()

    def files(self, table: str) -> tuple[Path, ...]:
        """Return the Parquet files of a table, in the order of the tapes."""
        return tuple(file for run in self._with(table) for file in run.files(table))

    def source(self, table: str) -> str:
        """Return an SQL table expression for a table over all runs."""
        selects = []
        for run, shift in zip(self.runs, self.shifts, strict=True):
            if run in self._with(table):
                shifted = f" REPLACE (session + {shift} AS session)" if shift and table in NUMBERED else ""
                selects.append(f"SELECT *{shifted} FROM {run.source(table)}")
        return f"({' UNION ALL BY NAME '.join(selects)})"

    @property
    def skew(self) -> tuple[int, int | None]:
        """The time between the first and the last start of the runs by the target's clock, and its error, in ns.

        The error is None if a run does not know the target's clock. The time is then by the clocks of the hosts.
        """
        infos = [run.run_info for run in self.runs]
        clocks = [info.get("target_clock") for info in infos]
        begun = [info.get("started_ns") or 0 for info in infos]
        known = [clock for clock in clocks if clock is not None]
        if len(known) < len(infos):
            return int(max(begun) - min(begun)), None
        begun = [start + clock["ahead_ns"] for start, clock in zip(begun, known, strict=True)]
        bounds = sorted(int(clock["bound_ns"]) for clock in known)
        return int(max(begun) - min(begun)), sum(bounds[-2:])

    def part_of(self, kept: Sequence[bool]) -> "RunSet":
        """Return the runs of some tapes. `kept`: whether the run of each tape is kept, in the order of the tapes."""
        rows = [row for row, is_kept in zip(zip(self.runs, self.shifts, strict=True), kept, strict=True) if is_kept]
        return replace(self, runs=tuple(run for run, _ in rows), shifts=tuple(shift for _, shift in rows))

    def _with(self, table: str) -> tuple[Folder, ...]:
        return self.runs if table in SHARED else self.runs[:1]


def open_run(tape: Folder, path: Path) -> Folder:
    """Open a run of a tape, or a folder with a run of each tape of a set.

    Raises FolderError if the folder is missing or damaged. Raises InputError if runs do not fit to the tapes.
    """
    if (path / "run.json").exists() or not path.is_dir():
        return open_folder("run", path)
    inside = sorted(each for each in path.iterdir() if (each / "run.json").is_file())
    if not inside or not isinstance(tape, TapeSet):
        return open_folder("run", path)
    members = {tape_id(member.tape.info): member for member in tape.members}
    found: dict[str, Folder] = {}
    for each in inside:
        run = open_folder("run", each)
        known_as = (run.run_info.get("tape") or {}).get("id") or ""
        if known_as not in members:
            raise InputError(f"{each}: not a run of a tape of {tape.path}")
        if known_as in found:
            raise InputError(f"{each} and {found[known_as].path} are runs of the same tape: remove one of them")
        found[known_as] = run
    if missing := [member.tape.path.name for name, member in members.items() if name not in found]:
        raise InputError(f"{path}: no run of {', '.join(missing)}")
    runs = [found[name] for name in members]
    _check(path, runs)
    return _together(tape, path, runs, list(members.values()))


def _check(path: Path, runs: Sequence[Folder]) -> None:
    """Raise InputError if the runs have different targets or options."""
    first = runs[0]
    for run in runs[1:]:
        for what, one, other in (
            ("target", first.target.get("name"), run.target.get("name")),
            ("server version", first.target.get("version"), run.target.get("version")),
            *((f"--{name.replace('_', '-')}", one, other) for name, one, other in _parameters(first, run)),
        ):
            if one != other:
                raise InputError(
                    f"{path}: the runs differ in {what} ({first.path.name}: {one}, {run.path.name}: {other})"
                )


def _parameters(a: Folder, b: Folder) -> Iterator[tuple[str, Any, Any]]:
    """Yield the options that decide what both runs sent, and when."""
    given: list[dict[str, Any]] = [{**run.parameters} for run in (a, b)]
    for name in sorted({*given[0], *given[1]} - OWN_PARAMETERS):
        yield name, given[0].get(name), given[1].get(name)


def _together(tape: TapeSet, path: Path, runs: Sequence[Folder], members: Sequence[Member]) -> RunSet:
    """Return the runs as one run, with the sums of their accounting."""
    infos = [run.info for run in runs]
    begun = [int(info.get("started_ns") or 0) for info in infos]
    ended = [start + int(info.get("elapsed_ns") or 0) for start, info in zip(begun, infos, strict=True)]
    partial = [f"{run.path.name}: {why}" for run, info in zip(runs, infos, strict=True) if (why := info.get("partial"))]
    info = {
        **infos[0],
        "finished": all(info.get("finished") for info in infos),
        "tape": {"path": full_name(tape.path), "id": tape_id(tape.info), **_counts(tape)},
        "accounting": _added([info.get("accounting") or {} for info in infos]),
        "plan": _added([info.get("plan") or {} for info in infos]),
        "prepared": _added([info.get("prepared") or {} for info in infos]),
        "generator": _generator([info.get("generator") or {} for info in infos]),
        "partial": "; ".join(partial) or None,
        "started_ns": min(begun),
        "elapsed_ns": max(ended) - min(begun),
        "clock_pairs": [],
    }
    shifts = tuple(member.sessions for member in members)
    return RunSet("run", path, info, runs=tuple(runs), shifts=shifts)


def _counts(tape: Folder) -> dict[str, Any]:
    counts = tape.tape_info.get("counts") or {}
    return {"events": counts.get("events"), "sessions": counts.get("sessions")}


def _generator(given: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of the hosts' counters, and all their warnings."""
    warnings = list(dict.fromkeys(text for one in given for text in one.get("warnings") or []))
    return {**_added([{k: v for k, v in one.items() if k != "warnings"} for one in given]), "warnings": warnings}


def _added(given: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Add numbers and lists by name, also in nested objects. Booleans are true if all are true.

    Other values are the first.
    """
    total: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in given for name in one):
        values = [one[name] for one in given if one.get(name) is not None]
        if not values:
            total[name] = None
        elif all(isinstance(value, bool) for value in values):
            total[name] = all(values)
        elif all(isinstance(value, int | float) for value in values):
            total[name] = sum(values)
        elif all(isinstance(value, list) for value in values):
            total[name] = [one for value in values for one in value]
        elif all(isinstance(value, dict) for value in values):
            total[name] = _added(values)
        else:
            total[name] = values[0]
    return total
