# SPDX-License-Identifier: Apache-2.0
"""Start one driver on each host with the ssh program of this machine.

The join key goes over the standard input of ssh, so that no process list shows it. A driver does not need ssh after it
has joined: it writes into a file of its host, so it survives the end of ssh.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ...common.errors import InputError
from .launch import TAKE_KEY, DriverCommand, why_ended

LEAVE_S = 10.0
OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


@dataclass(frozen=True)
class SshHosts:
    """Hosts by the names that ssh knows: `host`, `user@host` or `ssh://user@host:port`."""

    hosts: Sequence[str]
    command: DriverCommand
    carries_key = True

    @property
    def where(self) -> str:
        """The hosts in messages."""
        return ", ".join(self.hosts)

    def count(self, tapes: int) -> int:
        """Return the number of hosts."""
        return len(self.hosts)

    @contextmanager
    def started(self, join: str, key: bytes, run: str, count: int) -> Iterator[Callable[[], str | None]]:
        """Start the drivers; see `Launcher`. Raises InputError if this machine has no ssh."""
        program = shutil.which("ssh")
        if program is None:
            raise InputError("--drivers ssh: ssh was not found on this machine")
        begun: list[tuple[str, subprocess.Popen[bytes]]] = []

        def problem() -> str | None:
            for host, process in begun:
                if (code := process.poll()) is not None:
                    _, said = process.communicate()
                    return why_ended(host, code, said.decode(errors="replace"))
            return None

        try:
            for number, host in enumerate(self.hosts[:count], 1):
                line = self.command.line(number, join, run, TAKE_KEY)
                begun.append((host, _start([program, *OPTIONS, "--", host, line], key)))
            yield problem
        finally:
            _end([process for _, process in begun])


def _start(command: Sequence[str], key: bytes) -> "subprocess.Popen[bytes]":
    """Start ssh without the terminal's Ctrl-C, and give it the key."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    with suppress(OSError):  # ssh has already ended
        process.stdin.write(key + b"\n")
        process.stdin.flush()
    return process


def _end(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    """Wait for ssh, and end it if it waits for a host that no longer answers."""
    until = time.monotonic() + LEAVE_S
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(until - time.monotonic(), 0.1))
    for process in processes:
        if process.poll() is None:
            process.kill()
        with suppress(OSError):
            process.communicate()
