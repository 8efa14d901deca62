# SPDX-License-Identifier: Apache-2.0
"""Measures the parser of slow logs on a real log.

The parser runs without a tape. A capture runs next to pt-query-digest. Memory is measured on a log of 2 GB.
"""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..native.bindings.parsers import open_slowlog
from .pairs import Figures, MissingError, Pair, Side, run_program
from .recording import record_log

MEGABYTES = 250
LARGE_BYTES = 2_000_000_000
PART_ROWS, PART_BYTES = 200_000, 48 << 20


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the pairs of this bench."""
    log = record_log(work, MEGABYTES)
    size = log.stat().st_size / 1e6
    what = f"a slow log of MariaDB under sysbench oltp_read_write, {size:,.0f} MB"

    def parse() -> Figures:
        reader = open_slowlog([log])
        began, cpu = time.monotonic(), time.process_time()
        while not reader.stats().finished:
            reader.drain_part(PART_ROWS, PART_BYTES)
        figures = {"MB/s": size / (time.monotonic() - began), "CPU s/GB": (time.process_time() - cpu) / size * 1000}
        reader.close()
        return figures

    def capture(path: Path) -> Figures:
        tape = work / "bench.tape"
        shutil.rmtree(tape, ignore_errors=True)
        ran = run_program(sys.executable, "-m", "querytape", "capture", "slowlog", str(path), "-o", str(tape))
        megabytes = path.stat().st_size / 1e6
        return {
            "MB/s": megabytes / ran.wall_s,
            "CPU s/GB": ran.cpu_s / megabytes * 1000,
            "peak MB": ran.peak_bytes / 1e6,
        }

    def peer(*command: str) -> Figures:
        ran = run_program(*command, str(log))
        return {"MB/s": size / ran.wall_s, "CPU s/GB": ran.cpu_s / size * 1000, "peak MB": ran.peak_bytes / 1e6}

    yield Pair(f"The parser alone, on {what}", Side("parser", "(in process, rows thrown away)", parse))
    whole = Side("capture", "querytape capture slowlog slow.log -o bench.tape", lambda: capture(log))
    digest = shutil.which("pt-query-digest")
    if digest is None:
        raise MissingError("pt-query-digest (package percona-toolkit)")
    yield Pair("From log to tape", whole, Side("pt-query-digest", "pt-query-digest slow.log", lambda: peer(digest)))
    large = work / "large.log"
    with log.open("rb") as source, large.open("wb") as target:
        while target.tell() < LARGE_BYTES:
            source.seek(0)
            shutil.copyfileobj(source, target, 1 << 20)
    yield Pair(
        f"Memory on a log of {large.stat().st_size / 1e9:.1f} GB (the same one, over and over)",
        Side("capture", "querytape capture slowlog large.log -o bench.tape", lambda: capture(large)),
    )
