# SPDX-License-Identifier: Apache-2.0
"""Cache of pages with limits, and error messages for a maker process that returns no page."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from querytape.common.errors import FolderError
from querytape.serve import page_cache
from querytape.serve.orders import Order
from querytape.serve.page_cache import Limits, Made, PageCache, run_maker

pytestmark = pytest.mark.slow

Make = Callable[[Order, Limits], Awaitable[Made]]


def with_maker(monkeypatch: pytest.MonkeyPatch, make: Make) -> None:
    """Make pages with the given function instead of the maker process."""
    monkeypatch.setattr(page_cache, "run_maker", make)


def test_page_is_made_once_and_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Concurrent requests wait for the same page. If the stamp of the input changes, the page is made again. Pages are
    made one at a time.
    """
    asked: list[Order] = []
    at_once = 0

    async def make(order: Order, limits: Limits) -> Made:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        asked.append(order)
        await asyncio.sleep(0.01)
        at_once -= 1
        return Made(order.tape.encode())

    async def ask() -> None:
        cache = PageCache(Limits())
        orders = [Order("tape", "a"), Order("tape", "a"), Order("tape", "a", stamp=(1,)), Order("tape", "b")]
        made = await asyncio.gather(*(cache.get(order, 60) for order in orders))
        assert [each.page for each in made if isinstance(each, Made)] == [b"a", b"a", b"a", b"b"]
        assert await cache.get(orders[0], 60) == made[0]
        assert len(asked) == 3

    with_maker(monkeypatch, make)
    asyncio.run(ask())


def test_size_of_the_cache_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently requested page is removed first. A page larger than the limit of the cache is not cached."""
    asked: list[str] = []

    async def make(order: Order, limits: Limits) -> Made:
        asked.append(order.tape)
        return Made(b"x" * (100_000 if order.tape == "large" else 9_000))

    async def ask() -> None:
        cache = PageCache(Limits(cache_bytes=25_000))
        for name in ("a", "b", "a", "c", "a", "b", "large", "large", "a"):
            assert isinstance(await cache.get(Order("tape", name), 60), Made)
        assert asked == ["a", "b", "c", "b", "large", "large"]

    with_maker(monkeypatch, make)
    asyncio.run(ask())


def test_waiting_requests_get_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a page is slow, the browser is asked to try again. Excess requests are refused. Shutdown cancels pages in
    progress.
    """
    ended: list[str] = []

    async def make(order: Order, limits: Limits) -> Made:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append(order.tape)
        return Made(b"")

    async def ask() -> None:
        cache = PageCache(Limits())
        for n in range(page_cache.MAX_WAITING):
            assert isinstance(await cache.get(Order("tape", str(n)), 0.0), float)
        with pytest.raises(FolderError, match="too many pages"):
            await cache.get(Order("tape", "more"), 0.0)
        assert isinstance(await cache.get(Order("tape", "0"), 0.0), float)
        await cache.close()
        assert ended == ["0"]

    with_maker(monkeypatch, make)
    asyncio.run(ask())


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "its process ended with exit code -11"),
        ("print('no json')", "its process ended with exit code 0"),
        ("", "its process ended with exit code 0"),
        ("import time; time.sleep(600)", "after 1 s"),
        ("import time; print('{}', flush=True); time.sleep(600)", "after 1 s"),
        ('import sys; print(\'{"problem": "it is damaged"}\')', "it is damaged"),
        ("print('{\"problem\": null}'); print('x' * 3_000_000)", "larger than 0 MiB"),
    ],
)
def test_maker_process_without_a_page_is_an_error(monkeypatch: pytest.MonkeyPatch, program: str, sentence: str) -> None:
    """The maker process crashes, prints invalid output or takes too long. In other cases it sends half a page or too
    much data.
    """
    monkeypatch.setattr(page_cache, "PROGRAM", (sys.executable, "-c", program))
    monkeypatch.setattr(page_cache, "END_S", 0.5)
    if "MiB" in sentence:
        monkeypatch.setattr(page_cache, "MAX_PAGE", 1 << 19)
    before = set(children())
    made = asyncio.run(run_maker(Order("tape"), Limits(page_s=1 if "600" in program else 60)))
    assert sentence in str(made.problem)
    assert set(children()) == before


def children() -> list[str]:
    """Return the child processes of this process."""
    return Path(f"/proc/self/task/{Path('/proc/self').resolve().name}/children").read_text().split()
