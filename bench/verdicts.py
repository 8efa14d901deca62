# SPDX-License-Identifier: Apache-2.0
"""Counts correct and false verdicts on simulated pairs of runs. `make verdicts` runs this module."""

import argparse
import sys
from collections.abc import Iterator
from itertools import islice

from .simulated_pairs import Simulation, counted

EFFECTS = ("none", "5 %", "20 %", "50 %", "tail")
DISTURBED = ("beside B", "beside both", "in bursts", "drift", "steal", "a quarter")


def simulations() -> Iterator[Simulation]:
    """Yield the rows of the table in docs/numbers.md."""
    for effect in EFFECTS:
        for n in (100, 500, 2000):
            yield Simulation(effect, n)
    for effect in ("none", "20 %", "50 %"):
        yield Simulation(effect, 500, wander=0.1)
    for n in (100, 500):
        yield Simulation("none", n, spread=1.0)
    yield Simulation("20 %", 500, everywhere=True)
    yield Simulation("50 %", 100, spread=1.0, half=True)
    yield Simulation("50 %", 500, spread=1.0, half=True)
    yield Simulation("20 %", 500, spread=0.15)
    yield Simulation("20 %", 2000, spread=0.6)
    for load in DISTURBED:
        for effect in ("none", "20 %"):
            yield Simulation(effect, 500, load=load)
    yield Simulation("20 %", 2000, load="a quarter")
    for load in ("beside B", "in bursts", "drift"):
        yield Simulation("none", 500, load=load, seen=False)
    yield Simulation("none", 500, load="changing", seen=False, rounds=3)
    yield Simulation("none", 500, load="changing", rounds=3)
    yield Simulation("20 %", 500, load="changing", rounds=5)
    for n in (5, 6, 7, 10, 17, 29):
        yield Simulation("none", n)
        yield Simulation("twice", n)
    yield Simulation("none", 17, load="in bursts")
    yield Simulation("twice", 17, load="a quarter")
    yield Simulation("none", 1, rounds=5, load="changing")
    yield Simulation("twice", 1, rounds=5)
    yield Simulation("twice", 2, rounds=5)


def main() -> int:
    """Print the table for docs/numbers.md."""
    parser = argparse.ArgumentParser(prog="make verdicts")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--from", dest="first", type=int, default=0, help="leave out so many rows")
    given = parser.parse_args()
    pairs = given.pairs
    print("| effect on | spread | events of each digest | machine | found | false calls |")
    print("|---|--:|--:|---|--:|--:|")
    for simulation in islice(simulations(), given.first, None):
        found, false, unchanged = (sum(column) for column in zip(*counted(simulation, pairs), strict=True))
        changed = pairs * len(simulation.changed)
        share = "" if simulation.effect == "none" else f"{found / changed:.1%}"
        wrong = f"{false / unchanged:.2%}" if unchanged else ""
        row = (simulation.on, simulation.spread, simulation.events, simulation.machine, share, wrong)
        print(f"| {' | '.join(map(str, row))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
