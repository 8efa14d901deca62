# SPDX-License-Identifier: Apache-2.0
"""Measure one level of a sweep: the throughput and latency of a run at a fixed number of sessions."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..schemas import open_folder
from .database import open_analysis
from .rows import SweepRow


@dataclass(frozen=True)
class SweepLevel:
    """One level of a sweep: its number of concurrent sessions and its results.

    Times are in ns. They are None if there are no answers.
    """

    sessions: int
    statements: int
    errors: int
    elapsed_ns: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None

    @property
    def per_second(self) -> float:
        """Statements per second."""
        return self.statements / max(self.elapsed_ns / 1e9, 1e-9)


def measure_level(run: Path, sessions: int) -> SweepLevel:
    """Return the results of a run with `sessions` sessions. Raises FolderError if the path is not a run."""
    database = open_analysis()
    try:
        database.con.execute(f"CREATE VIEW run_outcomes AS FROM {open_folder('run', run).source('outcomes')}")
        (row,) = cast(list[SweepRow], database.query("sweep"))
    finally:
        database.close()
    quantiles = row["p50_ns"], row["p95_ns"], row["p99_ns"]
    return SweepLevel(sessions, row["statements"], row["errors"], row["elapsed_ns"] or 0, *quantiles)
