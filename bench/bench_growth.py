# SPDX-License-Identifier: Apache-2.0
"""Measures how the CPU time per event of each command grows with the number of events.

The tapes have 20,000, 200,000 and 2,000,000 events.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ..replay.calibrate import null_server
from .logs import write_mixed_log
from .pairs import Figures, Pair, Side, run_program
from .replaying import replay_url

SIZES = (20_000, 200_000, 2_000_000)
NOTE = "CPU of the whole command over the events; the start of the program is in it, so that small work costs more."


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one measurement for each command: capture, inspect, replay, report."""
    url = f"mysql://null@127.0.0.1:{stack.enter_context(null_server())}"
    for events in SIZES:
        write_mixed_log(work / f"{events}.log", events)
        run_querytape("capture", "slowlog", str(work / f"{events}.log"), "-o", str(work / f"{events}.tape"))
        for side in "ab":
            replay(work, url, events, f"{events}-{side}.run")
    yield way("capture", "querytape capture slowlog N.log -o x.tape", lambda events: capture(work, events))
    yield way(
        "inspect", "querytape inspect N.tape", lambda events: run_querytape("inspect", str(work / f"{events}.tape"))
    )
    yield way(
        "replay",
        f"querytape replay N.tape --target {url} --pace none --allow-writes -o x.run",
        lambda events: replay(work, url, events, "x.run"),
    )
    yield way("report", "querytape report N.tape a.run b.run --html x.html", lambda events: report(work, events))


def way(name: str, command: str, run: Callable[[int], float]) -> Pair:
    """Return the measurement of one command: the CPU time per event at each size.

    The last figure is the ratio of two of these times: the time at the largest size and the time at the middle size.
    """

    def figures() -> Figures:
        cost = {events: run(events) / events * 1e6 for events in SIZES}
        shown = {f"us at {events:,}": us for events, us in cost.items()}
        return {**shown, "x100 over x10": cost[SIZES[2]] / cost[SIZES[1]]}

    return Pair(f"Cost of an event as the work grows: {name}", Side(name, command, figures), note=NOTE)


def capture(work: Path, events: int) -> float:
    """Return the CPU seconds of capturing a tape."""
    shutil.rmtree(work / "x.tape", ignore_errors=True)
    return run_querytape("capture", "slowlog", str(work / f"{events}.log"), "-o", str(work / "x.tape"))


def replay(work: Path, url: str, events: int, run: str) -> float:
    """Return the CPU seconds of a replay against the null server."""
    options = ("--pace", "none", "--allow-writes", "--target-is-disposable", "--sample", "0s")
    info = replay_url(work / f"{events}.tape", url, work / run, *options)
    return float(info["generator"]["cpu_ns"]) / 1e9


def report(work: Path, events: int) -> float:
    """Return the CPU seconds of a report on two runs."""
    runs = (str(work / f"{events}-{side}.run") for side in "ab")
    return run_querytape("report", str(work / f"{events}.tape"), *runs, "--html", str(work / "x.html"))


def run_querytape(*arguments: str) -> float:
    """Run a querytape command and return its CPU seconds."""
    return run_program(sys.executable, "-m", "querytape", *arguments).cpu_s
