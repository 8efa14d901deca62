# SPDX-License-Identifier: Apache-2.0
"""Signals end a program in order. The previous signal handlers are restored."""

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
def test_each_signal_calls_the_stop_function(number: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and SIGHUP each call the function once. The code in the block continues."""
    before = [signal.getsignal(each) for each in ENDING]
    calls = []
    with stop_on_signals(lambda: calls.append(1)):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert calls == [1, 1]
    assert [signal.getsignal(each) for each in ENDING] == before


@pytest.mark.parametrize("number", ENDING)
def test_signals_raise_keyboard_interrupt_in_the_block(number: signal.Signals) -> None:
    """SIGTERM and SIGHUP act like Ctrl-C."""
    before = [signal.getsignal(each) for each in ENDING]
    with pytest.raises(KeyboardInterrupt), unwind_on_signals():
        os.kill(os.getpid(), number)
    assert [signal.getsignal(each) for each in ENDING] == before


@pytest.mark.parametrize("number", ENDING)
def test_only_the_first_signal_interrupts_the_block(number: signal.Signals) -> None:
    """Later signals interrupt neither the cleanup nor the exit."""
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
    """An object with a finalizer. Python discards exceptions that a finalizer raises."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)


def test_interrupt_in_a_finalizer_is_raised_again(capfd: pytest.CaptureFixture[str]) -> None:
    """The signal arrives during a finalizer. It still ends the program, without a traceback."""

    def work() -> None:
        _Interrupted()
        for _ in range(500):
            time.sleep(0.01)

    with default_signals(*ENDING), pytest.raises(KeyboardInterrupt), one_ending():
        work()
    assert capfd.readouterr().err == ""


def test_blocks_in_other_threads_keep_the_signal_handlers() -> None:
    """Outside the main thread, the block does not change the signal handlers."""
    seen = []

    def work() -> None:
        with stop_on_signals(lambda: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


def test_ignored_signals_stay_ignored() -> None:
    """A program under nohup continues when its terminal closes. A program that a script starts with `&` ignores Ctrl-C."""
    before = {each: signal.signal(each, signal.SIG_IGN) for each in ENDING}
    try:
        with stop_on_signals(lambda: None), unwind_on_signals(), one_ending():
            assert {signal.getsignal(each) for each in ENDING} == {signal.SIG_IGN}
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def test_ctrl_c_during_imports_ends_silently() -> None:
    """The program ends without a message. If the program was started with SIGINT ignored, Ctrl-C has no effect."""
    code = "import signal, querytape.__main__; print(signal.getsignal(signal.SIGINT).name)"
    for ignored, expected in (((), "SIG_DFL"), ((signal.SIGINT,), "SIG_IGN")):
        process = start([sys.executable, "-c", code], ignored=ignored, stdout=subprocess.PIPE)
        assert process.communicate(timeout=60)[0].strip() == expected


COMMAND = [sys.executable, "-m", "querytape", "null-server"]


def test_background_command_ignores_ctrl_c_but_not_sigterm() -> None:
    """A script starts the command with SIGINT ignored. SIGTERM still ends the command normally."""
    process = start(COMMAND, ignored=[signal.SIGINT], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("port ")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1].strip() == "querytape: stopped"
    assert process.returncode == 130


def test_closed_terminal_ends_a_command_normally(tmp_path: Path) -> None:
    """After the terminal closes, the command can no longer print. It still exits with 130."""
    ours, theirs = os.openpty()
    os.set_blocking(ours, True)
    process = start(COMMAND, stdout=theirs, stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    assert b"port" in os.read(ours, 1000)
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 130


@pytest.mark.parametrize("guard", [one_ending, unwind_on_signals])
def test_signal_during_an_import_waits_for_its_end(
    guard: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal raises its exception after the import. If the import of a C++ module were interrupted, the process
    would abort.
    """
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
def test_held_signal_takes_effect_after_the_block(number: signal.Signals) -> None:
    done = []

    def make() -> None:
        with held():
            os.kill(os.getpid(), number)
            done.append("made")
        done.append("went on")

    with default_signals(*ENDING), pytest.raises(KeyboardInterrupt), unwind_on_signals():
        make()
    assert done == ["made"]


def escaped_exceptions(wait: Callable[[threading.Event], Any], times: int) -> set[type[BaseException]]:
    """Interrupt waits for an event by timer signals, at increasing times. Return the types of exceptions that the waits
    raised.
    """

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


def test_interrupted_wait_raises_only_the_exception_of_the_signal() -> None:
    """The signal may arrive at any moment of a wait. Event.wait itself can raise a different exception at some moments."""
    assert escaped_exceptions(lambda event: wait_for(event, 1e-5), 4000) == set()


def test_wait_ends_by_event_or_timeout() -> None:
    """Another thread may set the event."""
    event = threading.Event()
    assert not wait_for(event, 0.01)
    threading.Timer(0.05, event.set).start()
    assert wait_for(event, 60)
    assert wait_for(event, 0)
