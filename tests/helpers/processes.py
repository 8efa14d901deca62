# SPDX-License-Identifier: Apache-2.0
"""Processes for tests. They receive test signals even if the shell that started the tests ignores these signals."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from querytape.common.signals import ENDING

QUERYTAPE = (sys.executable, "-m", "querytape")


def run_command(
    *words: object, check: bool = True, timeout_s: int = 300, **more: Any
) -> "subprocess.CompletedProcess[str]":
    """Run a querytape command to its end in its own process."""
    command = [*QUERYTAPE, *map(str, words)]
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=timeout_s, **more)


@contextmanager
def default_signals(*numbers: signal.Signals) -> Iterator[None]:
    """Restore default signal handling for this process and its new children, as in a terminal session."""
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start(command: Sequence[str], ignored: Sequence[signal.Signals] = (), **more: Any) -> "subprocess.Popen[str]":
    """Start a command in its own process session. The command receives all signals except the ignored ones."""

    def prepare() -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    return subprocess.Popen(command, text=True, start_new_session=True, preexec_fn=prepare, **more)


def children_with(word: str) -> list[int]:
    """Return the ids of this process's children whose command line has this word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, parent = int(path.parent.name), int(path.read_text().rpartition(")")[2].split()[1])
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if parent == os.getpid() and word.encode() in words:
            found.append(pid)
    return sorted(found)


def running_processes(session: int) -> list[str]:
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
