# SPDX-License-Identifier: Apache-2.0
"""Measures `querytape lint` on a tape of 5,000 digests with six statements each. The target is 5 seconds."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..capture import capture
from .bench_report import timed
from .pairs import Pair, Side
from .plans import write_log

DIGESTS = 5_000


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the only measurement of this bench. We know of no other program that checks a log for an upgrade."""
    write_log(work / "slow.log", DIGESTS)
    capture([work / "slow.log"], work / "lint.tape")
    options = ("--from", "mysql-5.7", "--to", "mysql-8.4")
    command = (sys.executable, "-m", "querytape", "lint", str(work / "lint.tape"), *options)
    yield Pair(
        f"lint of {DIGESTS:,} digests",
        Side("querytape", f"querytape lint lint.tape {' '.join(options)}", lambda: timed(*command)),
        None,
    )
