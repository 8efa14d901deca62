# SPDX-License-Identifier: Apache-2.0
"""Runs every bench_*.py of this folder. Prints a table per pair and stores every round in bench/out/*.json."""

import argparse
import importlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from .. import __version__
from .pairs import MissingError, Pair, Result, measure, show

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run the requested benches. Return 1 if a bench failed."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--rounds", type=int, default=7, help="pairs after the warm-up (default 7)")
    parser.add_argument("--only", default="", help="names with commas: parser,replay")
    options = parser.parse_args()
    names = [path.stem.removeprefix("bench_").replace("_", "-") for path in sorted(HERE.glob("bench_*.py"))]
    selected = options.only.split(",") if options.only else names
    unknown = set(selected) - set(names)
    if unknown:
        parser.error(f"no bench {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    print(f"{machine()['cpu']}, {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}; {options.rounds} rounds\n")
    failed = [name for name in selected if not run_bench(name, options.rounds)]
    return 1 if failed else 0


def run_bench(name: str, rounds: int) -> bool:
    """Run the pairs of one file. Return False if a pair failed. A missing program is not a failure, but is reported."""
    module = importlib.import_module(f".bench_{name.replace('-', '_')}", __package__)
    results: list[Result] = []
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qt-bench-")))
        pairs: Iterator[Pair] = module.pairs(stack, work)
        try:
            for pair in pairs:
                try:
                    results.append(measure(pair, rounds))
                except MissingError as missing:  # the next pair may run without the missing program
                    print(f"!!! {pair.title}: not measured: {missing}\n", flush=True)
                else:
                    print(show(results[-1]) + "\n", flush=True)
        except MissingError as missing:
            print(f"!!! bench_{name}: not measured: {missing}\n", flush=True)
        except RuntimeError as error:
            print(f"!!! bench_{name}: {error}\n", file=sys.stderr, flush=True)
            keep(name, rounds, results)
            return False
    keep(name, rounds, results)
    return True


def keep(name: str, rounds: int, results: list[Result]) -> None:
    """Store the results, including the results from before a failure."""
    if results:
        (HERE / "out").mkdir(exist_ok=True)
        kept = {"at": time.strftime("%Y-%m-%dT%H:%M:%S"), "machine": machine(), "rounds": rounds, "version": version()}
        kept["pairs"] = [result.as_json() for result in results]
        (HERE / "out" / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def version() -> str:
    """Return the measured version, with its commit if this is a git clone."""
    told = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return " ".join([__version__, *told.stdout.split()])


def machine() -> dict[str, object]:
    """Return the properties of the machine that runs the bench."""
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return {
        "cpu": match[1] if match else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release().partition("-")[0],
        "load": os.getloadavg()[0],
    }


if __name__ == "__main__":
    sys.exit(main())
