# SPDX-License-Identifier: Apache-2.0
"""Summarise a tape, and compare two tapes, for `querytape inspect`."""

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
MAX_BINS = 120  # maximum number of bins of a chart over time
ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # round numbers for bin lengths, used with ns, us and ms
ROUND_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)


@dataclass
class TapeSummary:
    """A tape and the rows of each analysis of INSPECT and WORKLOAD, by name.

    `indexes`: the report of workload.indexes.index_report, if a server's indexes were requested. `pictures`: rows of
    PICTURES, if charts were requested, with bins of `bin_ns`.
    """

    tape: Folder
    answers: TapeAnswers
    workload: Workload
    indexes: IndexReport | None = None
    pictures: TapePictures = field(default_factory=TapePictures)
    bin_ns: int = NS_PER_SECOND


@dataclass
class TapeDifference:
    """Two tapes: the totals of each, and a row per digest. The largest change in frequency comes first."""

    tapes: list[Folder]
    totals: list[TapeTotalsRow]
    digests: list[TapeTwoTapesRow]


def summarise_tape(path: Path, memory: str = "1500MB", *, pictures: bool = False) -> TapeSummary:
    """Run every analysis on a tape. `pictures`: also run the analyses for charts.

    Raises FolderError if the path is not a tape.
    """
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
    """Return a round bin length in ns, so that at most MAX_BINS bins cover a tape with these totals.

    A bin is at least as long as the precision of the tape, because some logs have whole seconds only.
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
    """Return the changes from one tape to a later tape. Raises FolderError if a path is not a tape."""
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
