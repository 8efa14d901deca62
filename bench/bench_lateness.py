# SPDX-License-Identifier: Apache-2.0
"""Measures the lateness of the replayer: 200 sessions with 2,000 events per second, next to threads that only sleep."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..servers.sandbox import start_server
from .logs import write_steady_log
from .pairs import Figures, Pair, Side
from .replaying import capture, lateness, replay

SESSIONS = 200
EVENTS_PER_S = 2_000
SECONDS = 10
TIMER_PROBES = 32


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the only measurement of this bench."""
    server = stack.enter_context(start_server("mariadb", config={"max-connections": "400"}))
    log, tape = work / "steady.log", work / "steady.tape"
    write_steady_log(log, SESSIONS, EVENTS_PER_S, SECONDS)
    capture(log, tape)

    def run() -> Figures:
        info = replay(tape, server, "", work / "x.run", "--timer-probes", str(TIMER_PROBES))
        return {
            **lateness(info["lateness"]),
            "process CPU us/event": info["generator"]["cpu_ns"] / 1e3 / info["accounting"]["executed"],
        }

    yield Pair(
        f"Lateness: {SESSIONS} sessions, {EVENTS_PER_S:,} events/s",
        Side(
            "querytape",
            f"querytape replay steady.tape --target {server.url()} --timer-probes {TIMER_PROBES} -o x.run",
            run,
        ),
        note="Late: sent, less the latest of due, fed and free. Timer probes sleep only: that is the machine's share.",
    )
