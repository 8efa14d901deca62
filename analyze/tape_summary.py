# SPDX-License-Identifier: Apache-2.0
"""Summarise a tape, and compare two tapes: the data that `querytape inspect` shows."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ..schemas import Folder, open_folder
from .database import INSPECT, PICTURES, open_analysis
from .tape_rows import TapeAnswers, TapePictures, TapeTotalsRow, TapeTwoTapesRow, Workload
from .workload.indexes import IndexReport
from .workload.workload import know_workload

NS_PER_HOUR = 3.6e12
NS_PER_SECOND = 1_000_000_000
MAX_BINS = 120  # of what is drawn over time
ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # times a power of a thousand ns, up to a second: lengths of a bin
ROUND_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)


@dataclass
class TapeSummary:
    """A tape and the rows of each analysis of it, by name: of database.INSPECT, and of database.WORKLOAD.

    `indexes`: what workload.indexes.index_report says of a server's, where one was asked. `pictures`: rows of
    database.PICTURES, where they were asked for, over bins of `bin_ns`.
    """

    tape: Folder
    answers: TapeAnswers
    workload: Workload
    indexes: IndexReport | None = None
    pictures: TapePictures = field(default_factory=TapePictures)
    bin_ns: int = NS_PER_SECOND


@dataclass
class TapeDifference:
    """Two tapes: the row of totals of each, and a row for each digest, the largest change in frequency first."""

    tapes: list[Folder]
    totals: list[TapeTotalsRow]
    digests: list[TapeTwoTapesRow]


def summarise_tape(path: Path, memory: str = "1500MB", *, pictures: bool = False) -> TapeSummary:
    """Run every analysis on a tape; `pictures`: those that its page draws, too. Raises FolderError where it is none."""
    tape = open_folder("tape", path)
    database = open_analysis(memory)
    try:
        tape.attach(database.con, "tape")
        database.place(tape.tape_info["counts"]["events"])
        answers = cast(TapeAnswers, {name: database.query(f"inspect/{name}") for name in INSPECT})
        summary = TapeSummary(tape, answers, cast(Workload, know_workload(database, tape, memory)))
        if pictures:
            summary.bin_ns = bin_length(answers["totals"][0])
            database.set_variable("bin_ns", summary.bin_ns, "BIGINT")
            summary.pictures = cast(TapePictures, {name: database.query(f"inspect/{name}") for name in PICTURES})
        return summary
    finally:
        database.close()


def bin_length(totals: TapeTotalsRow) -> int:
    """Return the length of a bin in ns: a round one, of which MAX_BINS cover a tape with these totals.

    It is not finer than the tape's times: those of some logs are whole seconds.
    """
    span = (totals["last_ns"] or 0) - (totals["first_ns"] or 0)
    least = max(-(-span // (MAX_BINS - 1)), totals["precision_ns"] or 0, 1)
    for thousands in (1, 1000, 1_000_000):
        for length in ROUND:
            if length * thousands >= least:
                return length * thousands
    for seconds in ROUND_SECONDS:
        if seconds * NS_PER_SECOND >= least:
            return seconds * NS_PER_SECOND
    days = 86_400 * NS_PER_SECOND
    return -(-least // days) * days


def compare_tapes(path: Path, later: Path, memory: str = "1500MB") -> TapeDifference:
    """Return what changed from one tape to a later one. Raises FolderError where one is none."""
    tapes = [open_folder("tape", path), open_folder("tape", later)]
    totals: list[TapeTotalsRow] = []
    database = open_analysis(memory)
    try:
        for tape in reversed(tapes):
            tape.attach(database.con, "tape")
            totals.insert(0, cast(TapeTotalsRow, database.query("inspect/totals")[0]))
        tapes[1].attach(database.con, "other")
        for name, row in zip(("hours", "other_hours"), totals, strict=True):
            database.set_variable(name, max((row["last_ns"] or 0) - (row["first_ns"] or 0), 1) / NS_PER_HOUR, "DOUBLE")
        return TapeDifference(tapes, totals, cast(list[TapeTwoTapesRow], database.query("inspect/two_tapes")))
    finally:
        database.close()
