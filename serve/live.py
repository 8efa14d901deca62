# SPDX-License-Identifier: Apache-2.0
"""Reads a run while it is written: its ticks, part by part as they come, and what was asked of it."""

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
MAX_TICKS = 700_000  # eight days
MAX_POINTS = 400  # of a line
RECENT = 10  # ticks of which a rate is made
Ticks = npt.NDArray[np.float64]  # shape (ticks, columns); nan where a tick has none


class TickReader:
    """The ticks of one run, in the order of time; each part is read once."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._seen: set[str] = set()
        self._pieces: list[Ticks] = []
        self._whole = False

    def read(self) -> Ticks:
        """Return all ticks that are there. Raises FolderError where a part is damaged or a link."""
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
                    if parts.is_dir():  # else it was made into one file just now
                        raise
                    return self.read() if single.exists() else self._all()
                self._seen.update(each.name for each in new)
        return self._all()

    def _all(self) -> Ticks:
        if len(self._pieces) > 1:
            self._pieces = [np.concatenate(self._pieces)[:MAX_TICKS]]
        return self._pieces[0] if self._pieces else np.empty((0, len(COLUMNS)))


def read_ticks(files: Sequence[Path]) -> Ticks:
    """Return the ticks of Parquet files. Raises FolderError where they are none."""
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
    """A run at one moment. `word`: opening, running, paused, stopping, ended or killed. `speed`: as it is asked for."""

    word: str
    speed: str
    paced: bool
    planned: int
    stops: int

    @property
    def under_way(self) -> bool:
        """Whether something can be asked of it."""
        return self.word not in ("ended", "killed")


def state_of(run: Path, info: dict[str, Any], ticks: Ticks) -> State:
    """Return what a run does now, by its run.json and what was asked of it."""
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
    """Return what the last seconds were: rates a second, times in ns, shares; None where nothing is known.

    Before the first second nothing is.
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
    """Return the highest that is known."""
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else None


def lines(ticks: Ticks) -> tuple[float, dict[str, list[dict[str, Any]]]]:
    """Return the width of a point in s, and the points {x (s), y, line} of each chart: at most MAX_POINTS a line.

    Where a point stands for several seconds, rates are of all of them and times are the highest.
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
