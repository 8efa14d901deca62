# SPDX-License-Identifier: Apache-2.0
"""Simulates pairs of runs with a known effect, log-normal times, a common speed drift, and CPU use by other programs.

CPU use of other programs slows each statement by a factor that depends on its digest. The simulation samples the CPU
use as a replay does.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analyze.rows import InterferenceRow
from ..analyze.verdicts.exact import few_pairs
from ..analyze.verdicts.interference import UNKNOWN, Disturbance, disturbance
from ..analyze.verdicts.shifts import UNSEEN_FACTOR, measure_undisturbed
from ..analyze.verdicts.verdict import MIN_EVENTS, Case, Conditions, Margin, judge_all

DIGESTS = 20
CHANGED = 3
BLOCKS = 40
BLOCK_STEPS = 8  # bins per power of two of a digest in a block (block_bins in summary/events.sql)
CPUS = 2
PER_CORE = 0.4  # mean slowdown (natural logarithm) per core that other programs use
SAMPLING = 0.03  # standard error of a sample, in cores
Floats = NDArray[np.float64]
Effect = Callable[[np.random.Generator, Floats], Floats]

EFFECTS: dict[str, Effect] = {
    "none": lambda chance, b: b,
    "5 %": lambda chance, b: b * 1.05,
    "20 %": lambda chance, b: b * 1.2,
    "50 %": lambda chance, b: b * 1.5,
    "twice": lambda chance, b: b * 2,
    "tail": lambda chance, b: np.where(chance.random(len(b)) < 0.1, 5 * b, b),
}
LOADS = {
    "none": "steady",
    "beside B": "other programs use 1.5 of 2 cores during B",
    "beside both": "other programs use 1.5 of 2 cores during A and B",
    "in bursts": "other programs use 1.8 of 2 cores in a quarter of the blocks, different blocks on each side",
    "drift": "other programs use a growing share during B, from 0 to 1.5 of 2 cores",
    "steal": "the hypervisor takes 1 of 2 cores in a quarter of B's blocks",
    "a quarter": "other programs use 1.5 of 2 cores in a quarter of B's blocks",
    "changing": "other programs use 0 to 1.8 of 2 cores, a different share in each run",
}


@dataclass(frozen=True)
class Simulation:
    """One row of the table of simulations.

    `events`: the events of each digest per round. `seen`: whether the CPU use of other programs is sampled.
    """

    effect: str
    n: int
    load: str = "none"
    spread: float = 0.3
    wander: float = 0.0
    everywhere: bool = False
    seen: bool = True
    rounds: int = 1
    half: bool = False

    @property
    def on(self) -> str:
        """The effect and the digests that have it, as text."""
        name = "tail: 10 % of the events take 5 times as long" if self.effect == "tail" else self.effect
        return name if name == "none" else f"{name}, {self.places}"

    @property
    def places(self) -> str:
        """The digests that have the effect, as text."""
        return "all digests" if self.everywhere else "every second digest" if self.half else "one digest"

    @property
    def changed(self) -> set[int]:
        """The numbers of the digests that have the effect."""
        if self.effect == "none":
            return set()
        return set(range(DIGESTS)) if self.everywhere else set(range(1, DIGESTS, 2)) if self.half else {CHANGED}

    @property
    def events(self) -> str:
        """The number of events of each digest, as text."""
        return f"{self.n:,}" if self.rounds == 1 else f"{self.n:,} in each of {self.rounds} rounds"

    @property
    def machine(self) -> str:
        """The disturbances of the machine, as text."""
        words = [LOADS[self.load]] if self.load != "none" or not self.wander else []
        return ", ".join(
            [*words, *(["speed drifts by 10 %"] if self.wander else []), *([] if self.seen else ["not measured"])]
        )


def taken(simulation: Simulation, chance: np.random.Generator) -> dict[str, Floats]:
    """Return the cores that other programs use in each block, by side.

    `steal`: cores that the hypervisor takes from B.
    """
    load: dict[str, Floats] = {side: np.zeros(BLOCKS) for side in ("a", "b", "steal")}
    quarter = {side: chance.permutation(BLOCKS) < BLOCKS // 4 for side in ("a", "b")}
    if simulation.load in ("beside B", "beside both"):
        load["b"] += 1.5
    if simulation.load == "beside both":
        load["a"] += 1.5
    if simulation.load == "in bursts":
        load = {**load, **{side: 1.8 * hit.astype(np.float64) for side, hit in quarter.items()}}
    if simulation.load == "drift":
        load["b"] = np.linspace(0, 1.5, BLOCKS)
    if simulation.load == "steal":
        load["steal"] = quarter["b"].astype(np.float64)
    if simulation.load == "a quarter":
        load["b"] = 1.5 * quarter["b"].astype(np.float64)
    if simulation.load == "changing":
        load = {**load, **{side: np.full(BLOCKS, 1.8 * chance.random()) for side in ("a", "b")}}
    return load


def sampled(chance: np.random.Generator, load: dict[str, Floats], number: int) -> Iterator[InterferenceRow]:
    """Yield the rows of interference.sql for one round."""
    for side in ("a", "b"):
        for block in range(BLOCKS):
            others = max(load[side][block] + SAMPLING * chance.normal(), 0)
            steal = load["steal"][block] if side == "b" else 0.0
            idle = max(CPUS - others - steal - 0.3, 0)
            yield {
                "run": side,
                "round": number,
                "block": block,
                "machine": "host",
                "others": others,
                "steal": steal,
                "idle": idle,
                "cpus": CPUS,
                "waiting": 1 + others,
                "pressure": None,
            }


def one_round(
    simulation: Simulation, chance: np.random.Generator, load: dict[str, Floats]
) -> Iterator[tuple[int, Floats, Floats, NDArray[np.int64]]]:
    """Yield each digest with its times on A, its times on B, and the block of each event."""
    n = simulation.n
    places = np.arange(n) * BLOCKS // n if n >= BLOCKS else np.sort(chance.choice(BLOCKS, n, replace=False))
    speed = _wander(chance, simulation.wander, n)
    for digest in range(DIGESTS):
        level, hurt = level_of(simulation, digest), PER_CORE * chance.uniform(0.5, 1.5)
        a = level * np.exp(simulation.spread * chance.normal(size=n) + hurt * load["a"][places])
        b = level * np.exp(
            simulation.spread * chance.normal(size=n) + speed + hurt * (load["b"] + load["steal"])[places]
        )
        if digest in simulation.changed:
            b = EFFECTS[simulation.effect](chance, b)
        yield digest, a, b, places


def level_of(simulation: Simulation, digest: int) -> float:
    """Return a digest's usual time in ns.

    If digests run rarely, one of the digests is heavy, such as a report or a nightly job.
    """
    heavy = simulation.n * simulation.rounds < MIN_EVENTS and digest == CHANGED
    return 3e8 if heavy else 1e6 * 1.3 ** (digest % 10)


def _wander(chance: np.random.Generator, size: float, n: int) -> Floats:
    speed, value = np.zeros(n), 0.0
    for place in range(n if size else 0):
        value = 0.98 * value + size * math.sqrt(1 - 0.98**2) * chance.normal()
        speed[place] = value
    return speed


class Columns:
    """Rows of blocks.sql, slow_tail.sql or few_pairs.sql, stored as columns with digest and round."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._rows: list[tuple[Any, ...]] = []

    def add(self, *row: Any) -> None:
        """Add a row with its digest, its round, its block, and the values of the other columns."""
        self._rows.append(row)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the columns as arrays, in the order of their names."""
        rows = sorted(self._rows, key=lambda row: row[:3])
        names = ("digest", "round", "block", *self._names)
        return {name: np.array([row[place] for row in rows]) for place, name in enumerate(names)}


def trial(simulation: Simulation, seed: int) -> tuple[int, int, int]:
    """Simulate one pair of runs.

    Returns three counts: changed digests that were found, unchanged digests that got a verdict, and all unchanged
    digests.
    """
    chance = np.random.default_rng(seed)
    blocks = Columns("n", "shift", "level_a", "paired")
    tails, few = Columns("n", "tail_a_ns", "tail_b_ns"), Columns("a_ns", "b_ns", "moment")
    samples: list[InterferenceRow] = []
    for number in range(1, simulation.rounds + 1):
        load = taken(simulation, chance)
        samples += sampled(chance, load, number)
        for digest, a, b, places in one_round(simulation, chance, load):
            name = f"{digest:016x}"
            numbers, starts, counts = np.unique(places, return_index=True, return_counts=True)
            shifts, levels = (np.add.reduceat(np.log(v), starts) / counts for v in (b / a, a))
            for block, count, shift, level in zip(numbers, counts, shifts, levels, strict=True):
                blocks.add(name, number, block, count, shift, level, True)
            numbers, starts, counts = np.unique(places // 2, return_index=True, return_counts=True)
            ends = (_tails(side, places // 2, starts, counts) for side in (a, b))
            for block, count, a_ns, b_ns in zip(numbers, counts, *ends, strict=True):
                if count >= 15:
                    tails.add(name, number, block, count, a_ns, b_ns)
            if simulation.n * simulation.rounds < MIN_EVENTS:
                for row in zip(places, a, b, places, strict=True):
                    few.add(name, number, *row)
    found = disturbance(samples) if simulation.seen else UNKNOWN
    return _scored(simulation, _judged(simulation, (blocks, tails, few), found))


def _tails(values: Floats, places: NDArray[np.int64], starts: NDArray[np.intp], counts: NDArray[np.intp]) -> Floats:
    """Return the p95 of the values in each block, read from bins as in summary/quantiles.sql.

    The result is the least value in the bin of the p95.
    """
    ordered = values[np.lexsort((values, places))]
    ends = ordered[starts + np.ceil(0.95 * counts).astype(np.int64) - 1]
    edges = 2 ** (np.floor(BLOCK_STEPS * np.log2(ends)) / BLOCK_STEPS)
    parts = np.split(ordered, starts[1:])
    return np.array([part[np.searchsorted(part, edge)] for part, edge in zip(parts, edges, strict=True)])


def _judged(simulation: Simulation, columns: tuple[Columns, Columns, Columns], found: Disturbance) -> dict[int, str]:
    blocks, tails, few = (each.arrays() for each in columns)
    margin = Margin()
    whole, usable = measure_undisturbed(blocks, tails, margin.log, found)
    shared = next(iter(whole.values())).shared
    exact = few_pairs(few, margin.log + UNSEEN_FACTOR * abs(shared), found)
    cases = [
        Case(
            digest,
            median_a_ns=1e6,
            shift=shift,
            new_errors=0,
            usable=usable[digest],
            exact=exact.get(digest),
            time_ns=level_of(simulation, int(digest, 16)),
        )
        for digest, shift in whole.items()
    ]
    conditions = Conditions(
        None, found.said if found.disturbed else None, None if found.tells else "?", simulation.rounds
    )
    return {int(digest, 16): verdict.word for digest, verdict in judge_all(cases, margin, conditions).items()}


def _scored(simulation: Simulation, words: dict[int, str]) -> tuple[int, int, int]:
    changed = simulation.changed
    found = sum(words[digest] == "slower" for digest in changed)
    false = sum(words[digest] in ("slower", "faster") for digest in words if digest not in changed)
    return found, false, len(words) - len(changed)


def counted(simulation: Simulation, pairs: int) -> list[tuple[int, int, int]]:
    """Return the result of trial() for each simulated pair of runs."""
    return [trial(simulation, seed) for seed in range(pairs)]
