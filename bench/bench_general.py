# SPDX-License-Identifier: Apache-2.0
"""Measures parsing a real general log, with digests, on one core."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..native.bindings.parsers import open_general
from .pairs import Figures, Pair, Side
from .recording import record_log

MEGABYTES = 40
PART_ROWS, PART_BYTES = 200_000, 48 << 20


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the only measurement of this bench."""
    log = record_log(work, MEGABYTES, "general_log")
    size = log.stat().st_size / 1e6

    def parse() -> Figures:
        reader = open_general([log])
        began = time.monotonic()
        while not reader.stats().finished:
            reader.drain_part(PART_ROWS, PART_BYTES)
        wall_s = time.monotonic() - began
        events = reader.stats().events
        reader.close()
        return {"MB/s": size / wall_s, "events/s": events / wall_s}

    yield Pair(
        f"The parser alone, on a general log of MariaDB under sysbench oltp_read_write, {size:,.0f} MB",
        Side("parser", "(in process, rows thrown away)", parse),
        note="Its rows are short: about 70 bytes an event.",
    )
