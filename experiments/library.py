# SPDX-License-Identifier: Apache-2.0
"""Comparisons for Python programs: replay a tape against two targets in turn, and report the differences."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from ..analyze.library import ReportResult, report
from ..analyze.model import Settings
from ..replay import ReplayOptions, Watcher
from .compare import run_comparison
from .compare_plan import ComparePlan, complete_rounds

AnyPath = str | PathLike[str]


@dataclass(frozen=True)
class CompareOptions:
    """The number of rounds and the conditions of a comparison.

    `warmup`: number of first rounds that are not compared. `pause_ns`: pause before each run. `reset`: a shell command
    that restores the targets' data before each run. `query_cache`: False = replay without the servers' query caches.
    """

    rounds: int = 5
    warmup: int = 0
    pause_ns: int = 5_000_000_000
    reset: str | None = None
    query_cache: bool = True


@dataclass(frozen=True)
class CompareResult:
    """A comparison: its folder, its tape, and the runs of both sides by round."""

    path: Path
    tape: Path
    a: tuple[Path, ...]
    b: tuple[Path, ...]

    def report(self, options: Settings | None = None) -> ReportResult:
        """Return the report on all rounds."""
        return report(self.tape, self.a, self.b, options)


def compare(
    tape: AnyPath,
    a: ReplayOptions,
    b: ReplayOptions,
    output: AnyPath,
    options: CompareOptions | None = None,
    *,
    say: Callable[[str], None] = lambda text: None,
    make_watcher: Callable[[], Watcher] = Watcher,
) -> CompareResult:
    """Replay a tape against two targets in turn, A B A B ..., into the folder `output`, and return the runs.

    `a` (the reference) and `b` are the replay options of the sides. Their `output` is not used. Existing runs in
    `output` are kept, so an interrupted comparison continues. `say` gets a line before each run. Raises QuerytapeError
    if a reset fails, or a run is refused or partial.
    """
    options = options or CompareOptions()
    sides = {"a": a, "b": b}
    targets = {side: f"mysql://{one.target.name}" for side, one in sides.items()}
    plan = ComparePlan(
        Path(tape).absolute(),
        targets,
        rounds=options.rounds,
        warmup=options.warmup,
        pause_ns=options.pause_ns,
        reset=options.reset,
        query_cache=options.query_cache,
    )

    def make_options(side: str, path: Path) -> AbstractContextManager[ReplayOptions]:
        return nullcontext(replace(sides[side], output=path))

    run_comparison(ComparePlan.checked(plan), Path(output), make_options, say, make_watcher)
    runs = complete_rounds(Path(output))
    return CompareResult(Path(output), plan.tape, tuple(runs["a"]), tuple(runs["b"]))
