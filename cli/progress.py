# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a capture on stderr: a bar on a terminal, else one line per second."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress

MEGABYTE = 1_000_000


class CaptureProgress:
    """Shows bytes, MB/s, events and the time left. A context manager."""

    def __init__(self, line_every_s: float = 1) -> None:
        self._line_every_s = line_every_s
        self._terminal = sys.stderr.isatty()
        self._bar: Progress | None = None
        self._task: Any = None
        self._start = time.monotonic()
        self._last_line = self._start

    def __enter__(self) -> Self:
        if self._terminal:
            self._bar = progress_bar()
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, stats: Any, total: int | None) -> None:
        """Update the display with the counters of a parser.

        `total`: the number of bytes to read, or None if unknown.
        """
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("capture", total=total, events="0")
            self._bar.update(self._task, completed=stats.bytes_read, events=f"{stats.events:,}")
            return
        now = time.monotonic()
        if now - self._last_line >= self._line_every_s:
            self._last_line = now
            click.echo(line(stats.bytes_read, total, stats.events, now - self._start), err=True)


def progress_bar() -> "Progress":
    """Return the progress bar for a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    return Progress(
        TextColumn("capture"),
        BarColumn(bar_width=20),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[events]} events"),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )


def line(done: int, total: int | None, events: int, elapsed_s: float) -> str:
    """Return the plain progress line, at most 80 columns: megabytes, speed, events, time left."""
    speed = done / elapsed_s if elapsed_s > 0 else 0.0
    of = f" of {total / MEGABYTE:,.0f}" if total else ""
    left = f"  ETA {(total - done) / speed:,.0f} s" if total and speed > 0 else ""
    return f"capture: {done / MEGABYTE:,.0f}{of} MB  {speed / MEGABYTE:,.0f} MB/s  {events:,} events{left}"
