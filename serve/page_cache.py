# SPDX-License-Identifier: Apache-2.0
"""Keeps finished pages in memory, up to a limit. Makes one page at a time, each in its own process (maker.py)."""

import asyncio
import json
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from ..common.errors import FolderError
from .orders import Order

PROGRAM = (sys.executable, "-P", "-m", "querytape.serve.maker")
MAX_WAITING = 32  # maximum number of requested pages that are not finished
MAX_PAGE = 256 << 20
END_S = 5.0  # time for a process to end by itself


@dataclass(frozen=True)
class Made:
    """A page, or the reason why it could not be made."""

    page: bytes
    problem: str | None = None

    @property
    def size(self) -> int:
        """Bytes of memory of the page."""
        return len(self.page) + 1000


@dataclass(frozen=True)
class Limits:
    """`memory`: DuckDB's limit for one page. `cache_bytes`: limit of all kept pages. `page_s`: time limit of a page."""

    memory: str = "1500MB"
    cache_bytes: int = 256 << 20
    page_s: float = 900.0


class PageCache:
    """Finished pages by order. Belongs to one event loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: OrderedDict[Order, Made] = OrderedDict()
        self._bytes = 0
        self._making: dict[Order, tuple[float, asyncio.Task[Made]]] = {}
        self._one = asyncio.Semaphore(1)

    async def get(self, order: Order, wait_s: float) -> Made | float:
        """Return a page. If the page is not finished within `wait_s`, return the seconds since its first request.

        Raises FolderError if too many pages are waiting.
        """
        if (made := self._kept.get(order)) is not None:
            self._kept.move_to_end(order)
            return made
        if order not in self._making:
            if len(self._making) >= MAX_WAITING:
                raise FolderError("the server is building too many pages: try again later")
            self._making[order] = time.monotonic(), asyncio.create_task(self._make(order))
        since, task = self._making[order]
        done, _ = await asyncio.wait({task}, timeout=wait_s)
        return task.result() if done else time.monotonic() - since

    async def close(self) -> None:
        """Stop making pages."""
        tasks = [task for _, task in self._making.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _make(self, order: Order) -> Made:
        try:
            async with self._one:
                made = await run_maker(order, self._limits)
            self._keep(order, made)
            return made
        finally:
            self._making.pop(order, None)

    def _keep(self, order: Order, made: Made) -> None:
        if made.size > self._limits.cache_bytes:
            return
        self._kept[order] = made
        self._bytes += made.size
        while self._bytes > self._limits.cache_bytes:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= gone.size


async def run_maker(order: Order, limits: Limits) -> Made:
    """Make the page of an order in a process. A failure or a timeout becomes an error message."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        limit=1 << 20,
    )
    try:
        async with asyncio.timeout(limits.page_s):
            return await _talk(process, order, limits.memory)
    except TimeoutError:
        return Made(b"", f"the server stopped building the page after {limits.page_s:,.0f} s")
    finally:
        await _end(process)


async def _talk(process: asyncio.subprocess.Process, order: Order, memory: str) -> Made:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.write(json.dumps({"order": order.as_json(), "memory": memory}).encode() + b"\n")
        await process.stdin.drain()
    head = await process.stdout.readline()
    pieces, size = [], 0
    while piece := await process.stdout.read(1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_PAGE:
            return Made(b"", f"the page is larger than {MAX_PAGE >> 20} MiB")
    await process.wait()  # reap the process here before it can get a signal
    try:
        problem = json.loads(head)["problem"]
    except ValueError:
        return Made(
            b"",
            f"the page cannot be built: its process ended with exit code {process.returncode}, so the data may be"
            " damaged",
        )
    return Made(b"".join(pieces), problem)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process by closing its input, so that it removes its files and exits. If it does not exit, kill it."""
    if process.returncode is not None:
        return
    assert process.stdin is not None
    process.stdin.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(_until_gone(process), END_S)
        return
    with suppress(ProcessLookupError):
        process.kill()
    await _until_gone(process)


async def _until_gone(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a process. asyncio notices the end only after reading all output."""
    assert process.stdout is not None
    while await process.stdout.read(1 << 20):
        pass
    await process.wait()
