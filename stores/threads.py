# SPDX-License-Identifier: Apache-2.0
"""Do work in several threads that never keep the program from ending."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..common.signals import LOOK_S

T = TypeVar("T")
R = TypeVar("R")
THREADS = 8


def in_thread(work: Callable[[], R]) -> R:
    """Return the result of `work`. A signal does not wait for its end."""
    made: list[R] = []
    in_threads(lambda _: made.append(work()), [None])
    return made[0]


def in_threads(work: Callable[[T], None], items: Sequence[T]) -> None:
    """Call `work` for each item, up to THREADS items at the same time. Raises the first error.

    After an error or a signal, no more items begin. The caller does not wait for the items that have begun, because a
    request to a store may hang.
    """
    waiting, done = iter(items), queue.SimpleQueue[BaseException | None]()
    lock, stopped = threading.Lock(), threading.Event()

    def run() -> None:
        while not stopped.is_set():
            with lock:
                item = next(waiting, end)
            if item is end:
                return
            try:
                work(item)  # type: ignore[arg-type]
            except BaseException as error:
                stopped.set()
                done.put(error)
                return
            done.put(None)

    end = object()
    for _ in range(min(THREADS, len(items))):
        threading.Thread(target=run, name="transfer", daemon=True).start()
    try:
        for _ in items:
            if (error := _next(done)) is not None:
                raise error
    finally:
        stopped.set()


def _next(items: "queue.SimpleQueue[R]") -> R:
    """Wait for the next item. A signal that arrives just before a wait is handled only after it, so waits are short."""
    while True:
        try:
            return items.get(timeout=LOOK_S)
        except queue.Empty:
            continue
