# SPDX-License-Identifier: Apache-2.0
"""Tries mutants and says which the tests did not notice: `python -m tests.mutants.run --help`."""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import tomllib
from itertools import zip_longest
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path

from .mutations import Mutant, all_mutants
from .rooms import MIN_KILLED, ROOMS, asked
from .workshop import KILLED, SURVIVED, Base, Workshop, warm_up

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent


def survivors() -> dict[str, str]:
    """Return the mutants that are known to survive, and why."""
    text = (HERE / "survivors.toml").read_text(encoding="utf-8")
    return {entry["name"]: entry["reason"] for entry in tomllib.loads(text).get("survivor", [])}


def worker(
    mutants: list[Mutant],
    base: Base | None,
    todo: "SimpleQueue[int | None]",
    done: "SimpleQueue[tuple[int, str, float]]",
) -> None:
    """Try the mutants whose places come until none comes."""
    warm_up()
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="qt-mutants-") as folder:
        shop = Workshop(CHECKOUT, Path(folder), base)
        while (place := todo.get()) is not None:
            began = time.monotonic()
            try:
                result = shop.try_out(mutants[place])
            except Exception as error:
                result = f"not tried: {error}"
            done.put((place, result, time.monotonic() - began))


def chosen(args: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that are asked for, in the order in which they are tried."""
    mutants = all_mutants(CHECKOUT, args.room or list(ROOMS), args.only)
    if args.name:
        mutants = [mutant for mutant in mutants if args.name in mutant.name]
    if args.quick:
        mutants = [mutant for mutant in mutants if not mutant.path.startswith("native/engine/")]
    mutants.sort(key=lambda mutant: mutant.rank(args.seed))
    if args.sample:
        by_room = [[mutant for mutant in mutants if mutant.room == room] for room in ROOMS]
        mutants = [one for turn in zip_longest(*(part[: args.sample] for part in by_room)) for one in turn if one]
    return mutants


def has_programs(mutant: Mutant) -> bool:
    """Whether C tests are asked about a mutant."""
    return any(test.startswith("native:") for some in asked(mutant.path, CHECKOUT) for test in some)


def main() -> int:
    """Try the mutants and print what survived; 1 where a survivor is not known, or a room has too many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only these rooms")
    parser.add_argument("--only", default="", help="only files with this text in their path")
    parser.add_argument("--name", help="only mutants with this text in their name")
    parser.add_argument("--quick", action="store_true", help="none of the engine's C, for which all C tests are built")
    parser.add_argument("--sample", type=int, help="so many of each room, the same for the same seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="none is begun after this")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="what each mutant came to, as JSON")
    parser.add_argument("--verbose", action="store_true", help="name those that are killed, too")
    parser.add_argument("--show", action="store_true", help="list them, try none")
    args = parser.parse_args()
    args.until = time.monotonic() + 60 * args.minutes
    mutants = chosen(args)
    if args.show:
        for mutant in mutants:
            print(mutant.room, "|", mutant.name, "|", " ".join(asked(mutant.path, CHECKOUT)[0]))
        return 0
    with tempfile.TemporaryDirectory(prefix="qt-mutants-") as folder:
        in_c = any(mutant.path.endswith(".c") for mutant in mutants)
        base = Base(CHECKOUT, Path(folder)) if in_c else None
        if base is not None and any(has_programs(mutant) for mutant in mutants[: args.workers * 8]):
            base.build_programs(CHECKOUT)
        return report(run(mutants, base, args), args)


def run(mutants: list[Mutant], base: Base | None, args: argparse.Namespace) -> list[tuple[Mutant, str]]:
    """Try mutants in several processes until all are done or the time is over."""
    context = get_context("fork")
    todo, done = context.SimpleQueue(), context.SimpleQueue()
    known = survivors()
    count = min(args.workers, len(mutants)) or 1
    processes = [context.Process(target=worker, args=(mutants, base, todo, done), daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    given = 0
    results: list[tuple[Mutant, str]] = []
    for given in range(1, count + 1):
        todo.put(given - 1)
    while len(results) < given:
        place, result, took = done.get()
        mutant = mutants[place]
        results.append((mutant, result))
        if result != KILLED or args.verbose:
            print(f"{result} ({took:.1f} s) {mutant.name}{' (known)' if mutant.name in known else ''}", flush=True)
        if given < len(mutants) and time.monotonic() < args.until:
            todo.put(given)
            given += 1
    for _ in processes:
        todo.put(None)
    for process in processes:
        process.join()
    return results


def report(results: list[tuple[Mutant, str]], args: argparse.Namespace) -> int:
    """Print the share of each room; return the exit code."""
    known, bad = survivors(), 0
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps([[m.name, m.line, result] for m, result in results], indent=0) + "\n")
    for room in ROOMS:
        of_room = [(mutant, result) for mutant, result in results if mutant.room == room]
        killed = sum(result == KILLED for _, result in of_room)
        left = [mutant.name for mutant, result in of_room if result == SURVIVED]
        if not killed + len(left):
            continue
        unknown = sum(name not in known for name in left)
        share = killed / (killed + len(left))
        print(
            f"{room:28} {share:4.0%} killed: {killed} of {killed + len(left)};"
            f" {len(left) - unknown} known survivors, {unknown} others"
        )
        bad += unknown > 0 if args.sample else share < MIN_KILLED
    return 1 if bad else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the copies are removed
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
