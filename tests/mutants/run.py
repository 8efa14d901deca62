# SPDX-License-Identifier: Apache-2.0
"""Run mutants and list those that no test noticed: `python -m tests.mutants.run --help`."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue

from .mutations import Mutant, all_mutants
from .rooms import MIN_KILLED, ROOMS, c_tests, python_tests
from .workshop import KILLED, SURVIVED, Base, Workshop

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def chosen(args: argparse.Namespace) -> list[Mutant]:
    """Return the selected mutants in the order in which they are tried."""
    mutants = [one for one in all_mutants(CHECKOUT, args.room or list(ROOMS), args.only) if args.name in one.name]
    mutants.sort(key=lambda mutant: mutant.rank(args.seed))
    if args.sample:
        by_room = [[mutant for mutant in mutants if mutant.room == room] for room in ROOMS]
        mutants = [one for turn in zip_longest(*(part[: args.sample] for part in by_room)) for one in turn if one]
    return mutants


def try_mutants(mutants: list[Mutant], folder: Path, args: argparse.Namespace) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with its result, until all are tried or the time limit is reached. Several mutants run in
    parallel.
    """
    in_c = any(mutant.path.endswith(".c") for mutant in mutants)
    (folder / "base").mkdir()
    base = Base(CHECKOUT, folder / "base") if in_c else None
    shops: SimpleQueue[Workshop] = SimpleQueue()
    for number in range(args.workers):
        (folder / str(number)).mkdir()
        shops.put(Workshop(CHECKOUT, folder / str(number), base))
    until = time.monotonic() + 60 * args.minutes

    def one(mutant: Mutant) -> str | None:
        if time.monotonic() > until:
            return None
        shop = shops.get()
        try:
            return shop.try_out(mutant)
        except Exception as error:
            return f"not tried: {error}"
        finally:
            shops.put(shop)

    with ThreadPoolExecutor(args.workers) as pool:
        running = {pool.submit(one, mutant): mutant for mutant in mutants}
        try:
            for future in as_completed(running):
                if (result := future.result()) is not None:
                    yield running[future], result
        finally:
            pool.shutdown(cancel_futures=True)


def report(results: list[tuple[Mutant, str]]) -> int:
    """Print the percentage of noticed mutants for each room. Return 1 if a room is below MIN_KILLED."""
    bad = False
    for room in ROOMS:
        of_room = [result for mutant, result in results if mutant.room == room and result in (KILLED, SURVIVED)]
        if of_room:
            killed = of_room.count(KILLED)
            print(f"{room:28} {killed / len(of_room):4.0%} killed: {killed} of {len(of_room)}")
            bad = bad or killed / len(of_room) < MIN_KILLED
    return int(bad)


def main() -> int:
    """Try the mutants, and print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only these rooms")
    parser.add_argument("--only", default="", help="only files with this text in their path")
    parser.add_argument("--name", default="", help="only mutants with this text in their name")
    parser.add_argument("--sample", type=int, help="so many of each room, the same for the same seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="none is begun after this")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="the result of each mutant, as JSON")
    parser.add_argument("--verbose", action="store_true", help="also list the mutants that are killed")
    parser.add_argument("--show", action="store_true", help="list the mutants and the tests of their name, try none")
    args = parser.parse_args()
    mutants, results = chosen(args), []
    if args.show:
        for mutant in mutants:
            own = c_tests(mutant.path, CHECKOUT)[0] + python_tests(mutant.path, CHECKOUT)[0]
            print(mutant.room, "|", mutant.name, "|", " ".join(own))
        return 0
    with tempfile.TemporaryDirectory(prefix="qt-mutants-") as folder:
        for mutant, result in try_mutants(mutants, Path(folder), args):
            results.append((mutant, result))
            if result != KILLED or args.verbose:
                print(f"{result}: {mutant.name} (line {mutant.line})", flush=True)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps([[m.name, m.line, result] for m, result in results], indent=0) + "\n")
    return report(results)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a normal exit removes the copies of the checkout
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
