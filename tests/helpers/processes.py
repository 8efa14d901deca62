# SPDX-License-Identifier: Apache-2.0
"""Processes of tests: they hear the signals that a test sends, whatever the shell ignores that started the tests."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def default_signals(*numbers: signal.Signals) -> Iterator[None]:
    """Let this process, and those it starts in the block, hear signals as a program started in a terminal does."""
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start(command: Sequence[str], ignored: Sequence[signal.Signals] = (), **more: Any) -> "subprocess.Popen[str]":
    """Start a command in a session of its own that hears all signals, but those to be ignored."""

    def prepare() -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    return subprocess.Popen(command, text=True, start_new_session=True, preexec_fn=prepare, **more)


def left_of(session: int) -> list[str]:
    """Return the processes of a session that still run, as `pid command`."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, _, _, its = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its) == session and state not in "ZX":
                found.append(f"{folder.name} {(folder / 'cmdline').read_text().replace(chr(0), ' ')[:100]}")
        except (OSError, ValueError):
            continue
    return found
