# SPDX-License-Identifier: Apache-2.0
"""Measures the memory per session: peak memory with 2,000 sessions minus peak memory with 200 sessions."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..servers.sandbox import start_server
from .logs import write_steady_log
from .pairs import Figures, Pair, Side
from .replaying import capture, replay

FEW, MANY = 200, 2_000
EVENTS_PER_S = 1_000
SECONDS = 6


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the only measurement of this bench."""
    config = {"max-connections": str(MANY + 100), "open-files-limit": "10000"}
    server = stack.enter_context(start_server("mariadb", config=config))
    for sessions in (FEW, MANY):
        write_steady_log(work / f"{sessions}.log", sessions, EVENTS_PER_S, SECONDS)
        capture(work / f"{sessions}.log", work / f"{sessions}.tape")

    def peak(sessions: int) -> float:
        info = replay(work / f"{sessions}.tape", server, "", work / "x.run")
        return float(info["generator"]["rss_peak_bytes"])

    def run() -> Figures:
        few, many = peak(FEW), peak(MANY)
        return {
            f"peak MB, {FEW} sessions": few / 1e6,
            f"peak MB, {MANY} sessions": many / 1e6,
            "KB a session": (many - few) / (MANY - FEW) / 1e3,
        }

    yield Pair(
        "Memory of a session",
        Side("querytape", f"querytape replay N.tape --target {server.url()} -o x.run, N = {FEW}, {MANY}", run),
        note=f"{EVENTS_PER_S:,} events/s in both; resident memory of the whole process at its peak.",
    )
