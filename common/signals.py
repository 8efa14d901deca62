# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP as a request to end: what is being written is ended in order.

A signal that was ignored when the program began (nohup, `&` in a script) stays ignored everywhere here.
"""

import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
RETRY_S = 0.02
LOOK_S = 0.05
IMPORTING = "<frozen importlib."


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on each SIGINT, SIGTERM and SIGHUP, in the main thread; elsewhere nothing is changed."""
    with _handled(stop, ENDING):
        yield


@contextmanager
def unwind_on_signals() -> Iterator[None]:
    """Let each SIGTERM and SIGHUP unwind as Ctrl-C does, so that what the block began is ended in order."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, ENDING):
        yield


def hear(number: signal.Signals) -> None:
    """Let a signal that was ignored when the program began unwind it: the program sends it to itself."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler)


@contextmanager
def held() -> Iterator[None]:
    """Let a signal that has a handler here be heard at the block's end only: what it makes is known by then."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, lambda number, frame: heard.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for each in heard:
        before[signal.Signals(each)](each, None)


def wait_for(event: threading.Event, seconds: float) -> bool:
    """Wait until an event is set, or so many seconds; return whether it is set.

    For the main thread, where a signal may unwind the wait: what Event.wait holds then is left neither locked nor
    unlocked, and a RuntimeError comes of it.
    """
    until = time.monotonic() + seconds
    while not event.is_set():
        left = until - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, LOOK_S))
    return True


class Ending:
    """What a program heard: `asked` is whether a signal wants it to end."""

    def __init__(self) -> None:
        self.asked = False

    def interrupt(self) -> None:
        """Unwind the program, once: a second signal must not break off what the first began to put in order."""
        if not self.asked:
            self.asked = True
            raise KeyboardInterrupt

    def lost(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Ask again where the interrupt came in a callback, which can't be unwound, and was dropped there."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(unraisable)
        else:
            self.asked = False
            _again(next(each for each in ENDING if callable(signal.getsignal(each))))


@contextmanager
def one_ending() -> Iterator[Ending]:
    """Let the first signal unwind the block; later ones are not heard, nor any on the way out of the program."""
    ending = Ending()
    hook, sys.unraisablehook = sys.unraisablehook, ending.lost
    try:
        with _handled(ending.interrupt, ENDING, after=signal.SIG_IGN):
            yield ending
    finally:
        sys.unraisablehook = hook


def _again(number: int) -> None:
    """Send this process a signal in a moment."""
    timer = threading.Timer(RETRY_S, os.kill, [os.getpid(), number])
    timer.daemon = True
    timer.start()


def _loading(frame: FrameType | None) -> int:
    """Return how many frames load modules: a library in C++ that is unwound there ends the process (abort)."""
    found = 0
    while frame is not None:
        found += frame.f_code.co_filename.startswith(IMPORTING)
        frame = frame.f_back
    return found


def let_go_of_terminal() -> None:
    """Let what is said go nowhere where it went to a terminal: it is gone, and writing to it would be an error."""
    for descriptor in (1, 2):
        try:
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
        except OSError:
            continue


@contextmanager
def _handled(
    act: Callable[[], None], numbers: Iterable[signal.Signals], after: signal.Handlers | None = None
) -> Iterator[None]:
    """Call `act` on these signals. Afterwards they have their handlers of before, or `after`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    loading = _loading(sys._getframe())  # a program may be run by an import of its own

    def handle(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            let_go_of_terminal()
        if _loading(frame) > loading:
            _again(number)
        else:
            act()

    taken = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if after is None else after)
