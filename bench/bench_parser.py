# SPDX-License-Identifier: Apache-2.0
"""How fast a slow log is read: the parser alone, and a whole capture, beside programs that read slow logs."""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..native.slowlog import open_slowlog
from .logs import write_mixed_log
from .pairs import Figures, MissingError, Pair, Side, run_program

MEGABYTES = 100


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the pairs of this bench."""
    log = work / "slow.log"
    write_mixed_log(log, MEGABYTES)
    size = log.stat().st_size / 1e6
    small = work / "small.log"
    write_mixed_log(small, 5)

    def parse() -> Figures:
        reader = open_slowlog([log])
        began, cpu = time.monotonic(), time.process_time()
        while not reader.stats().finished:
            reader.drain_part(1 << 62, 1 << 62)
        figures = {
            "MB/s": size / (time.monotonic() - began),
            "CPU s/GB": (time.process_time() - cpu) / size * 1000,
        }
        reader.close()
        return figures

    def capture(path: Path) -> Figures:
        tape = work / "bench.tape"
        shutil.rmtree(tape, ignore_errors=True)
        ran = run_program(sys.executable, "-m", "querytape", "capture", "slowlog", str(path), "-o", str(tape))
        megabytes = path.stat().st_size / 1e6
        return {"MB/s": megabytes / ran.wall_s, "CPU s/GB": ran.cpu_s / megabytes * 1000}

    def peer(path: Path, *command: str) -> Figures:
        ran = run_program(*command, str(path))
        megabytes = path.stat().st_size / 1e6
        return {"MB/s": megabytes / ran.wall_s, "CPU s/GB": ran.cpu_s / megabytes * 1000}

    whole = Side("capture", "querytape capture slowlog slow.log -o bench.tape", lambda: capture(log))
    yield Pair("The parser alone", Side("parser", "(in process, rows thrown away)", parse))
    dumpslow = shutil.which("mariadb-dumpslow") or shutil.which("mysqldumpslow")
    if dumpslow is None:
        raise MissingError("mariadb-dumpslow (package mariadb-client)")
    yield Pair(
        "A whole capture",
        whole,
        Side("dumpslow", f"{Path(dumpslow).name} slow.log", lambda: peer(log, dumpslow)),
    )
    digest = shutil.which("pt-query-digest")
    if digest is None:
        raise MissingError("pt-query-digest (package percona-toolkit)")
    yield Pair(
        "A whole capture beside pt-query-digest (5 MB: it is slow; our start-up weighs more here)",
        Side("capture", "querytape capture slowlog small.log -o bench.tape", lambda: capture(small)),
        Side("pt-query-digest", "pt-query-digest small.log", lambda: peer(small, digest)),
    )
