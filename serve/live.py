# SPDX-License-Identifier: Apache-2.0
"""Reads a run that is still being written: the new parts of its ticks, and the users' requests to the run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from ..common.duck import plain_reason, small_database, sql_files
from ..common.errors import FolderError
from ..common.files import is_held
from ..common.units import NS_PER_SECOND
from ..replay.observe.control_files import requested_speed, stops_asked
from ..replay.plan.pacing import speed_text
from .shelf import section

COLUMNS = (
    "at_ns", "done", "reads", "writes", "others", "errors", "p95_ns", "late_p99_ns", "sessions_open", "queued_bytes",
)  # fmt: skip
AT, DONE, READS, WRITES, OTHERS, ERRORS, P95, LATE, OPEN, QUEUED = range(len(COLUMNS))
MAX_TICKS = 700_000  # eight days of ticks
MAX_POINTS = 400  # points per line of a chart
RECENT = 10  # ticks over which a rate is averaged
Ticks = npt.NDArray[np.float64]  # shape (ticks, columns); nan for a missing value


class TickReader:
    """The ticks of one run in order of time. Each part is read once."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._seen: set[str] = set()
        self._pieces: list[Ticks] = []
        self._whole = False

    def read(self) -> Ticks:
        """Return all ticks written so far. Raises FolderError if a part is damaged or a symbolic link."""
        single, parts = self.run / "ticks.parquet", self.run / "ticks"
        if single.exists() and not self._whole:
            self._pieces, self._whole = [read_ticks([single])], True
        elif not self._whole and parts.is_dir():
            if parts.is_symlink():
                raise FolderError(f"{parts}: a symbolic link (querytape serve does not follow links)")
            new = sorted(each for each in parts.glob("part-*.parquet") if each.name not in self._seen)
            if new:
                try:
                    self._pieces.append(read_ticks(new))
                except FolderError:
                    if parts.is_dir():  # if not, the parts were just merged into one file
                        raise
                    return self.read() if single.exists() else self._all()
                self._seen.update(each.name for each in new)
        return self._all()

    def _all(self) -> Ticks:
        if len(self._pieces) > 1:
            self._pieces = [np.concatenate(self._pieces)[:MAX_TICKS]]
        return self._pieces[0] if self._pieces else np.empty((0, len(COLUMNS)))


def read_ticks(files: Sequence[Path]) -> Ticks:
    """Return the ticks of Parquet files. Raises FolderError if the files contain no ticks."""
    for file in files:
        if file.is_symlink():
            raise FolderError(f"{file}: a symbolic link (querytape serve does not follow links)")
    listed = ", ".join(f'"{name}"::DOUBLE AS "{name}"' for name in COLUMNS)
    try:
        with small_database() as con:
            query = f"SELECT {listed} FROM read_parquet({sql_files(files)}) ORDER BY at_ns LIMIT {MAX_TICKS}"
            found = con.execute(query).fetchnumpy()
    except duckdb.Error as error:
        raise FolderError(f"{files[0]}: {plain_reason(error)}") from error
    columns = [np.ma.filled(found[name].astype(np.float64), np.nan) for name in COLUMNS]
    return np.column_stack(columns)


@dataclass(frozen=True)
class State:
    """The state of a run at one moment.

    `word`: opening, running, paused, stopping, ended or killed. `speed`: the requested speed.
    """

    word: str
    speed: str
    paced: bool
    planned: int
    stops: int

    @property
    def under_way(self) -> bool:
        """Whether the run can still accept requests."""
        return self.word not in ("ended", "killed")


def state_of(run: Path, info: dict[str, Any], ticks: Ticks) -> State:
    """Return the current state of a run, from its run.json and the requests to it."""
    parameters, planned = section(info, "parameters"), section(info, "plan").get("planned")
    asked, stops = requested_speed(run), stops_asked(run)
    if info.get("finished"):
        word = "ended"
    elif not is_held(run):
        word = "killed"
    elif stops:
        word = "stopping"
    elif not len(ticks):
        word = "opening"
    else:
        word = "paused" if asked == 0 else "running"
    speed = str(parameters.get("speed") or "1")[:20] if asked is None else speed_text(asked)
    count = planned if isinstance(planned, int) and not isinstance(planned, bool) and planned > 0 else 0
    return State(word, speed, parameters.get("pace") != "none", count, stops)


def figures(ticks: Ticks, planned: int) -> dict[str, float | None]:
    """Return measured values of the last seconds: rates per second, times in ns, shares. None means unknown.

    Returns an empty dict before the first second.
    """
    if not len(ticks):
        return {}
    last, recent = ticks[-1], ticks[-RECENT:]
    long_s = max((last[AT] - (ticks[-RECENT - 1][AT] if len(ticks) > RECENT else 0)) / NS_PER_SECOND, 1e-9)
    per_second = float(recent[:, (READS, WRITES, OTHERS)].sum()) / long_s
    done = float(ticks[:, DONE].sum())
    rate = float(recent[:, DONE].sum()) / long_s
    share = min(done / planned, 1.0) if planned else None
    values = {
        "at_ns": last[AT],
        "per_second": per_second,
        "errors_per_second": float(recent[:, ERRORS].sum()) / long_s,
        "p95_ns": highest(recent[:, P95]),
        "late_ns": highest(recent[:, LATE]),
        "open": last[OPEN],
        "done": done,
        "errors": float(ticks[:, ERRORS].sum()),
        "share": share,
        "left_s": (planned - done) / rate if planned and rate > 0 else None,
    }
    return {name: None if value is None or not math.isfinite(value) else float(value) for name, value in values.items()}


def highest(values: Ticks) -> float | None:
    """Return the maximum of the known values."""
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else None


def lines(ticks: Ticks) -> tuple[float, dict[str, list[dict[str, Any]]]]:
    """Return the seconds per point, and the points {x (s), y, line} of each chart.

    A line has at most MAX_POINTS points.

    If a point covers several seconds, rates are averages and times are maxima.
    """
    if not len(ticks):
        return 1.0, {name: [] for name in ("throughput", "p95", "errors", "late", "sessions", "queue")}
    width_s = max(math.ceil(ticks[-1, AT] / NS_PER_SECOND / MAX_POINTS), 1)
    bins = np.maximum(np.ceil(ticks[:, AT] / NS_PER_SECOND / width_s - 0.5), 0).astype(np.int64)
    starts = np.flatnonzero(np.r_[True, np.diff(bins) != 0])
    begins = np.r_[0.0, ticks[:, AT]][:-1]
    ends_ns = ticks[np.r_[starts[1:] - 1, len(ticks) - 1], AT]
    long_s = np.maximum((ends_ns - begins[starts]) / NS_PER_SECOND, 1e-9)

    def rate(*columns: int) -> Ticks:
        return np.asarray(np.add.reduceat(ticks[:, columns].sum(axis=1), starts) / long_s)

    def top(column: int, size: float) -> Ticks:
        return np.asarray(np.fmax.reduceat(ticks[:, column], starts) / size)

    def points(values: Ticks, line: str) -> list[dict[str, Any]]:
        return [
            {"x": round(float(end) / NS_PER_SECOND, 2), "y": float(f"{float(value):.5g}"), "line": line}
            for end, value in zip(ends_ns, values, strict=True)
            if math.isfinite(value)
        ]

    return width_s, {
        "throughput": points(rate(READS, WRITES, OTHERS), "all"),
        "p95": points(top(P95, 1e6), "p95"),
        "errors": points(rate(ERRORS), "errors"),
        "late": points(top(LATE, 1e6), "late"),
        "sessions": points(top(OPEN, 1.0), "open"),
        "queue": points(top(QUEUED, 1e6), "queue"),
    }
