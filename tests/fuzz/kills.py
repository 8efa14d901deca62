# SPDX-License-Identifier: Apache-2.0
"""Kill each command many times at random moments with one or two signals, and report the kills that left damage.

Usage: `python -m tests.fuzz.kills [KILLS] [SEED] [NAME,NAME...]`. NAME:NUMBER repeats one kill. The exit code is 1 if
any kill left damage.
"""

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ..helpers.forked_commands import ForkServer
from ..helpers.kills import described, duration_of, kill_once
from ..helpers.victims import NEEDS_SERVER, victims


def main() -> int:
    """Kill the commands and print the faults that were found."""
    given = dict(enumerate(sys.argv[1:]))
    kills, seed = int(given.get(0, 200)), int(given.get(1) or random.randrange(10**6))
    picked = [name for name in given.get(2, "").split(",") if name]
    print(f"seed {seed}", flush=True)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="querytape-kills-") as folder:
        Path(folder).chmod(0o711)  # private servers run as another user and must enter the folder
        inputs = Path(folder) / "inputs"
        inputs.mkdir()
        names = {name.partition(":")[0] for name in picked}
        with victims(inputs, server=not names or bool(names & set(NEEDS_SERVER))) as found:
            for name in picked or found:
                bad += one_command(name, found, Path(folder), kills, seed)
    return 1 if bad else 0


def one_command(name: str, found: dict[str, Any], folder: Path, kills: int, seed: int) -> int:
    """Kill one command `kills` times. Return the number of kills after which a fault was found."""
    name, _, only = name.partition(":")
    codes: Counter[str] = Counter()
    bad, began = 0, time.monotonic()
    fork_server = ForkServer()
    lasts_s = {
        None: duration_of(found[name], folder / name),
        fork_server: duration_of(found[name], folder / name, fork_server),
    }
    for number in [int(only)] if only else range(kills):
        by = fork_server if number % 8 else None  # every eighth process is not forked, to hit its startup
        code, wrong = kill_once(name, found[name], folder / name, number, seed, lasts_s[by], by)
        codes[f"exit code {code}"] += 1
        if wrong is not None:
            bad += 1
            print(wrong, flush=True)
    fork_server.close()
    took = time.monotonic() - began
    print(f"== {name}: {codes.total()} kills, {bad} bad, {took:.0f} s ({described(codes)})", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
