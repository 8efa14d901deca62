# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of `querytape tape deal` with `tape merge` of one tape, which rewrites the tape.

The target for deal is at least 0.8 of the speed of merge.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..capture import capture
from .bench_report import timed
from .logs import write_mixed_log
from .pairs import Figures, Pair, Side

EVENTS = 500_000
TAPES = 16


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the only pair of this bench."""
    write_mixed_log(work / "slow.log", EVENTS)
    capture([work / "slow.log"], work / "m.tape")

    def run(name: str, *arguments: str) -> Figures:
        shutil.rmtree(work / name, ignore_errors=True)
        tape, output = str(work / "m.tape"), str(work / name)
        return timed(sys.executable, "-m", "querytape", "tape", arguments[0], tape, *arguments[1:], "-o", output)

    yield Pair(
        f"{EVENTS:,} events into {TAPES} tapes",
        Side("deal", f"querytape tape deal m.tape {TAPES} -o m.set", lambda: run("m.set", "deal", str(TAPES))),
        Side("rewriting", "querytape tape merge m.tape -o again.tape", lambda: run("again.tape", "merge")),
    )
