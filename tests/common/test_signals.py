# SPDX-License-Identifier: Apache-2.0
"""Signals ask for an end; the handlers of before come back."""

import os
import signal
import threading

import pytest
from querytape.common.signals import stop_on_signals, unwind_on_signals

ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", ALL)
def test_stop(number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM call the function once each, and the block goes on."""
    before = [signal.getsignal(each) for each in ALL]
    calls = []
    with stop_on_signals(lambda: calls.append(1)):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert calls == [1, 1]
    assert [signal.getsignal(each) for each in ALL] == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_unwind(number: signal.Signals) -> None:
    """SIGTERM and SIGHUP unwind the block as Ctrl-C does."""
    before = [signal.getsignal(each) for each in ALL]
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        os.kill(os.getpid(), number)
    assert [signal.getsignal(each) for each in ALL] == before


def test_other_threads_change_nothing() -> None:
    """Outside the main thread the block runs with the handlers that are there."""
    seen = []

    def work() -> None:
        with stop_on_signals(lambda: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


def test_what_is_ignored_stays_ignored() -> None:
    """A program under nohup does not end when its terminal does."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals(lambda: None), unwind_on_signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
