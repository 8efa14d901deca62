# SPDX-License-Identifier: Apache-2.0
"""Capture generated statements of 100 B to 64 MB from log files of each kind, plain and packed, and from pipes.

Usage: `python -m tests.fuzz.any_size SECONDS [SEED]`. Runs for SECONDS seconds and prints the seed of a failed round.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from querytape.capture import SOURCES, Settings, capture_source

from ..capture.test_any_size import PACKERS, rows_of, tape_of
from ..helpers.log_writers import KINDS, fifo_with, make_statements


def one_round(seed: int, folder: Path) -> None:
    """Capture one set of statements from a file, a packed file and a pipe. The tapes must be equal (AssertionError)."""
    chance = random.Random(seed)
    name = chance.choice(list(KINDS))
    kind, write, extra = KINDS[name]
    sizes = [int(100 * 10 ** (chance.random() ** 3 * 5.8)) for _ in range(chance.randrange(1, 40))]
    statements = make_statements(sizes, seed)
    data = write(statements)
    (folder / "log").write_bytes(data)
    found, rows, info = tape_of(name, folder / "log", folder / "file.tape")
    assert found == statements, f"seed {seed}: {name}: a statement is not what it was"
    assert info["counts"]["problems"] == 0, f"seed {seed}: {name}: {info['problems']}"
    packing = chance.choice(list(PACKERS))
    (folder / "packed").write_bytes(PACKERS[packing](data))
    assert tape_of(name, folder / "packed", folder / "packed.tape")[1] == rows, f"seed {seed}: {name}, {packing}"
    piece = int(10 ** (chance.random() * 6)) if len(data) > 100_000 else chance.randrange(1, 50)
    with fifo_with(folder / "fifo", data, max(piece, len(data) // 100_000)) as path:
        capture_source(SOURCES[kind], [str(path)], folder / "fifo.tape", Settings(extra=extra))
    assert rows_of(folder / "fifo.tape") == rows, f"seed {seed}: {name}: pieces of {piece} bytes"


def main() -> None:
    """Run rounds until the time is up."""
    end = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="querytape-") as folder:
            try:
                one_round(seed + rounds, Path(folder))
            except BaseException:
                print(f"seed {seed + rounds}", file=sys.stderr)
                raise
        rounds += 1
    print(f"{rounds} rounds from seed {seed}: every tape was the same")


if __name__ == "__main__":
    main()
