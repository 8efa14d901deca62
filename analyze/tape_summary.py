# SPDX-License-Identifier: Apache-2.0
"""Summarise a tape, and compare two tapes: the data that `querytape inspect` shows."""

from dataclasses import dataclass
from pathlib import Path

from ..schemas import Folder, open_folder
from .database import INSPECT, Row, open_analysis
from .workload.workload import know_workload

NS_PER_HOUR = 3.6e12


@dataclass
class TapeSummary:
    """A tape and the rows of each analysis of it, by name: of database.INSPECT, and of database.WORKLOAD.

    `indexes`: what workload.indexes.index_report says of a server's, where one was asked.
    """

    tape: Folder
    answers: dict[str, list[Row]]
    workload: dict[str, list[Row]]
    indexes: Row | None = None


@dataclass
class TapeDifference:
    """Two tapes: the row of totals of each, and a row for each digest, the largest change in frequency first."""

    tapes: list[Folder]
    totals: list[Row]
    digests: list[Row]


def summarise_tape(path: Path, memory: str = "1500MB") -> TapeSummary:
    """Run every analysis on a tape. Raises FolderError where it is none."""
    tape = open_folder("tape", path)
    database = open_analysis(memory)
    try:
        tape.attach(database.con, "tape")
        database.place(tape.info["counts"]["events"])
        answers = {name: database.query(f"inspect/{name}") for name in INSPECT}
        return TapeSummary(tape, answers, know_workload(database, tape, memory))
    finally:
        database.close()


def compare_tapes(path: Path, later: Path, memory: str = "1500MB") -> TapeDifference:
    """Return what changed from one tape to a later one. Raises FolderError where one is none."""
    tapes = [open_folder("tape", path), open_folder("tape", later)]
    totals: list[Row] = []
    database = open_analysis(memory)
    try:
        for tape in reversed(tapes):
            tape.attach(database.con, "tape")
            totals.insert(0, database.query("inspect/totals")[0])
        tapes[1].attach(database.con, "other")
        for name, row in zip(("hours", "other_hours"), totals, strict=True):
            database.set_variable(name, max(row["last_ns"] - row["first_ns"], 1) / NS_PER_HOUR, "DOUBLE")
        return TapeDifference(tapes, totals, database.query("inspect/two_tapes"))
    finally:
        database.close()
