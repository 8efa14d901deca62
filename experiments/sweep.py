# SPDX-License-Identifier: Apache-2.0
"""Replays a tape's sessions at growing concurrency: one run per level.

Writes `sweep.json` and `sweep.html` from all runs.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from ..analyze import SweepLevel, measure_level, sweep_page
from ..common.files import publish
from ..replay import ReplayOptions, Watcher, replay
from ..replay.plan.pacing import MAX_CLONES, Amplification, Pace
from ..schemas import open_folder

MAX_STATEMENTS_PER_S = 20_000  # assumed rate; determines the number of events of a level


def run_sweep(
    tape: Path,
    options: ReplayOptions,
    levels: tuple[int, ...],
    tell: Callable[[SweepLevel], None],
    watcher: Watcher | None = None,
) -> list[SweepLevel]:
    """Replay `tape` once per level into `options.output`. Return the results of the levels in order.

    `levels`: numbers of concurrent sessions, each for `options.stop_after_ns`. `tell` gets each finished level.
    `watcher` watches each run. The runs are named `{sessions}.run`. Raises the errors of `replay`.
    """
    folder, each_ns = options.output, options.stop_after_ns
    assert each_ns is not None
    results: list[SweepLevel] = []
    for sessions in levels:
        level_options = replace(
            options,
            output=folder / f"{sessions}.run",
            pace=Pace("none"),
            amplification=Amplification(loop=rounds_for(tape, sessions, each_ns)),
            max_concurrent_sessions=sessions,
        )
        replay(tape, level_options, watcher)
        results.append(measure_level(level_options.output, sessions))
        tell(results[-1])
    write_results(tape, folder, options.target.name, results)
    return results


def rounds_for(tape: Path, sessions: int, each_ns: int) -> int:
    """Return the loops of the tape that keep `sessions` concurrent sessions busy for `each_ns`."""
    counts = open_folder("tape", tape).tape_info["counts"]
    by_sessions = 2 * sessions / max(counts["sessions"], 1)
    by_events = MAX_STATEMENTS_PER_S * each_ns / 1e9 / max(counts["events"], 1)
    return min(int(max(by_sessions, by_events, 1)) + 1, MAX_CLONES)


def write_results(tape: Path, folder: Path, target: str, levels: list[SweepLevel]) -> None:
    """Write `sweep.json` and `sweep.html` of a sweep."""
    with publish(folder / "sweep.json") as temporary:
        rows = [{**asdict(level), "per_second": level.per_second} for level in levels]
        temporary.write_text(json.dumps({"tape": str(tape), "target": target, "levels": rows}, indent=1) + "\n")
    with publish(folder / "sweep.html") as temporary:
        temporary.write_text(sweep_page(f"{tape.name} on {target}", levels), encoding="utf-8")


def expand_levels(text: str) -> tuple[int, ...]:
    """Return the numbers of `1,2,4,...,64`. The dots repeat the factor before them. Raises ValueError."""
    numbers: list[int] = []
    parts = [part.strip() for part in text.split(",")]
    for place, part in enumerate(parts):
        if part != "...":
            numbers.append(int(part))
            continue
        if len(numbers) < 2 or place + 1 == len(parts) or numbers[-1] % numbers[-2]:
            raise ValueError(text)
        last = int(parts[place + 1])
        factor = numbers[-1] // numbers[-2]
        while factor > 1 and numbers[-1] * factor < last:
            numbers.append(numbers[-1] * factor)
    return tuple(numbers)
