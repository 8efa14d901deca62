# SPDX-License-Identifier: Apache-2.0
"""Signals ask for an end; the handlers of before come back."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.common.signals import ENDING, held, one_ending, stop_on_signals, unwind_on_signals, wait_for

from tests.helpers.processes import default_signals, start


@pytest.mark.parametrize("number", ENDING)
def test_stop(number: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and SIGHUP call the function once each, and the block goes on."""
    before = [signal.getsignal(each) for each in ENDING]
    calls = []
    with stop_on_signals(lambda: calls.append(1)):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert calls == [1, 1]
    assert [signal.getsignal(each) for each in ENDING] == before


@pytest.mark.parametrize("number", ENDING)
def test_unwind(number: signal.Signals) -> None:
    """SIGTERM and SIGHUP unwind the block as Ctrl-C does."""
    before = [signal.getsignal(each) for each in ENDING]
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        os.kill(os.getpid(), number)
    assert [signal.getsignal(each) for each in ENDING] == before


@pytest.mark.parametrize("number", ENDING)
def test_one_ending(number: signal.Signals) -> None:
    """The first signal unwinds; what puts things in order is not broken off by others, nor is the way out."""
    done = []

    def work() -> None:
        try:
            os.kill(os.getpid(), number)
            done.append("went on")
        finally:
            for each in ENDING:
                os.kill(os.getpid(), each)
            done.append("in order")

    with default_signals(*ENDING):
        with pytest.raises(KeyboardInterrupt), one_ending():
            work()
        for each in ENDING:
            os.kill(os.getpid(), each)
    assert done == ["in order"]


class _Interrupted:
    """Something whose end is no place for an exception: Python drops it there."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)


def test_an_interrupt_that_is_dropped_is_asked_again(capfd: pytest.CaptureFixture[str]) -> None:
    """A signal that comes in a callback ends the program all the same, without a traceback."""

    def work() -> None:
        _Interrupted()
        for _ in range(500):
            time.sleep(0.01)

    with default_signals(*ENDING), pytest.raises(KeyboardInterrupt), one_ending():
        work()
    assert capfd.readouterr().err == ""


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
    """A program under nohup does not end when its terminal does, one behind `&` of a script not by Ctrl-C."""
    before = {each: signal.signal(each, signal.SIG_IGN) for each in ENDING}
    try:
        with stop_on_signals(lambda: None), unwind_on_signals(), one_ending():
            assert {signal.getsignal(each) for each in ENDING} == {signal.SIG_IGN}
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def test_while_it_is_loaded() -> None:
    """Ctrl-C ends the program without a word, unless it was ignored."""
    code = "import signal, querytape.__main__; print(signal.getsignal(signal.SIGINT).name)"
    for ignored, expected in (((), "SIG_DFL"), ((signal.SIGINT,), "SIG_IGN")):
        process = start([sys.executable, "-c", code], ignored=ignored, stdout=subprocess.PIPE)
        assert process.communicate(timeout=60)[0].strip() == expected


COMMAND = [sys.executable, "-m", "querytape", "null-server"]


def test_in_the_background_of_a_script() -> None:
    """A command whose SIGINT is ignored goes on; SIGTERM ends it in order."""
    process = start(COMMAND, ignored=[signal.SIGINT], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("port ")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1].strip() == "querytape: stopped"
    assert process.returncode == 130


def test_a_terminal_that_goes_away(tmp_path: Path) -> None:
    """Closing the terminal ends a command in order, though nothing can be said any more."""
    ours, theirs = os.openpty()
    os.set_blocking(ours, True)
    process = start(COMMAND, stdout=theirs, stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    assert b"port" in os.read(ours, 1000)
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 130


@pytest.mark.parametrize("guard", [one_ending, unwind_on_signals])
def test_no_module_is_broken_off(guard: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that comes while a module is loaded unwinds what follows, never the loading: C++ would abort."""
    text = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nsum(range(1000))\nwhole = True\n"
    (tmp_path / "broken_off.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    def load() -> None:
        importlib.import_module("broken_off")
        time.sleep(5)

    with default_signals(*ENDING), pytest.raises(KeyboardInterrupt), guard():
        load()
    assert sys.modules.pop("broken_off").whole


@pytest.mark.parametrize("number", ENDING)
def test_held(number: signal.Signals) -> None:
    """What the block makes is known before the signal is heard."""
    done = []

    def make() -> None:
        with held():
            os.kill(os.getpid(), number)
            done.append("made")
        done.append("went on")

    with default_signals(*ENDING), pytest.raises(KeyboardInterrupt), unwind_on_signals():
        make()
    assert done == ["made"]


def unwound(wait: Callable[[threading.Event], Any], times: int) -> set[type[BaseException]]:
    """Unwind waits for an event by a timer's signal, each a little later; return what came of it."""

    class Unwound(Exception):
        pass

    def unwind(number: int, frame: Any) -> None:
        raise Unwound

    found: set[type[BaseException]] = set()
    before = signal.signal(signal.SIGALRM, unwind)
    try:
        for number in range(times):
            event = threading.Event()
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-5 + number % 200 * 1e-6)
                while True:
                    wait(event)
            except BaseException as error:
                found.add(type(error))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    return {each for each in found if each.__name__ != "Unwound"}


def test_a_wait_that_is_unwound() -> None:
    """Whenever a signal unwinds a wait for an event, nothing else than that comes of it, as it would of Event.wait."""
    assert unwound(lambda event: wait_for(event, 1e-5), 4000) == set()


def test_waits_end() -> None:
    """A wait ends when its event is set, also by another thread, and after its time."""
    event = threading.Event()
    assert not wait_for(event, 0.01)
    threading.Timer(0.05, event.set).start()
    assert wait_for(event, 60)
    assert wait_for(event, 0)
