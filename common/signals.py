# SPDX-License-Identifier: Apache-2.0
"""Handle Ctrl-C, SIGTERM and SIGHUP as requests to end the program, so that open output is completed.

A signal that was ignored when the program began (nohup, `&` in a script) stays ignored.
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
    """Call `stop` on each SIGINT, SIGTERM and SIGHUP.

    Only the main thread installs the handlers. In other threads, the block runs without handlers.
    """
    with _handled(stop, ENDING):
        yield


@contextmanager
def unwind_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does, so that the block cleans up."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, ENDING):
        yield


def hear(number: signal.Signals) -> None:
    """Let a signal raise KeyboardInterrupt even if it was ignored at program start.

    The program sends this signal to itself.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler)


@contextmanager
def held() -> Iterator[None]:
    """Delay handled signals until the block ends, so that they cannot interrupt the creation of a resource."""
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
    """Wait until an event is set or `seconds` have passed. Return whether the event is set.

    Use this in the main thread, where a signal may interrupt the wait. Interrupting Event.wait can leave its lock in an
    undefined state, which causes a RuntimeError.
    """
    until = time.monotonic() + seconds
    while not event.is_set():
        left = until - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, LOOK_S))
    return True


class Ending:
    """The state of a program that a signal may end. `asked` is True after such a signal."""

    def __init__(self) -> None:
        self.asked = False

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt at the first signal only. A second signal must not interrupt the cleanup."""
        if not self.asked:
            self.asked = True
            raise KeyboardInterrupt

    def lost(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Send a signal again if Python dropped its KeyboardInterrupt, because the interrupt came in a callback."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(unraisable)
        else:
            self.asked = False
            _again(next(each for each in ENDING if callable(signal.getsignal(each))))


@contextmanager
def one_ending() -> Iterator[Ending]:
    """Let the first signal unwind the block. Later signals are ignored, also while the program exits."""
    ending = Ending()
    hook, sys.unraisablehook = sys.unraisablehook, ending.lost
    try:
        with _handled(ending.interrupt, ENDING, after=signal.SIG_IGN):
            yield ending
    finally:
        sys.unraisablehook = hook


def _again(number: int) -> None:
    """Send this process a signal after a short delay."""
    timer = threading.Timer(RETRY_S, os.kill, [os.getpid(), number])
    timer.daemon = True
    timer.start()


def _loading(frame: FrameType | None) -> int:
    """Return the number of frames on the stack that import modules.

    A signal that interrupts the import of a C++ library aborts the process.
    """
    found = 0
    while frame is not None:
        found += frame.f_code.co_filename.startswith(IMPORTING)
        frame = frame.f_back
    return found


def let_go_of_terminal() -> None:
    """Redirect stdout and stderr to /dev/null if they are a terminal. Writing to a closed terminal would fail."""
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
    """Call `act` on these signals inside the block. Afterwards restore the previous handlers, or set `after`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    loading = _loading(sys._getframe())  # the program itself may run inside an import

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
