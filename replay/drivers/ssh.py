# SPDX-License-Identifier: Apache-2.0
"""Start one driver on each host with the ssh program of this machine.

The join key goes over the standard input of ssh, so that no process list shows it. A driver does not need ssh after it
has joined: it writes into a file of its host, so it survives the end of ssh.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from ...common.errors import InputError
from .launch import TAKE_KEY, DriverCommand, why_ended

LEAVE_S = 5.0
OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


class StartedBySsh:
    """The ssh processes; see `Started`. Several threads may start drivers.

    - `begun`: the name of the part, the host, the process, and the messages of each driver.
    - `line`: returns the command line of a driver by its number.
    - `part`: returns the name of a driver's part by its number.
    """

    def __init__(self, program: str, key: bytes, line: Callable[[int], str], part: Callable[[int], str]) -> None:
        self.begun: list[tuple[str, str, subprocess.Popen[bytes], IO[bytes]]] = []
        self._program, self._key, self._line, self.part = program, key, line, part

    def start(self, number: int, host: str) -> None:
        """Start ssh without the terminal's Ctrl-C, and give it the key.

        The messages of ssh go to a file, so that ssh never waits for a reader.
        """
        part, command = self.part(number), [self._program, *OPTIONS, "--", host, self._line(number)]
        said = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        self.begun.append((part, host, process, said))
        assert process.stdin is not None
        with suppress(OSError):  # ssh has already ended
            process.stdin.write(self._key + b"\n")
            process.stdin.flush()

    def problem(self, joined: Collection[str], part: str | None = None) -> str | None:
        """Return why a driver that has not joined will not join."""
        for own, host, process, said in tuple(self.begun):
            if own not in joined and part in (None, own) and (code := process.poll()) is not None:
                said.seek(0)
                return why_ended(host, code, said.read().decode(errors="replace"))
        return None

    def waiting(self, joined: Collection[str]) -> str:
        """Return the hosts whose drivers have not joined."""
        return ", ".join(host for part, host, *_ in self.begun if part not in joined)

    def start_again(self, part: str, number: int) -> None:
        """Start a driver on the host of a lost driver."""
        self.start(number, next(host for own, host, *_ in self.begun if own == part))

    def end(self) -> None:
        """Wait for ssh, and end it if it waits for a host that no longer answers."""
        until = time.monotonic() + LEAVE_S
        for _, _, process, _ in self.begun:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(until - time.monotonic(), 0.1))
        for _, _, process, said in self.begun:
            if process.poll() is None:
                process.kill()
            with suppress(OSError):
                process.communicate()
            said.close()


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
    def started(self, join: str, key: bytes, run: str, count: int) -> Iterator[StartedBySsh]:
        """Start the drivers; see `Launcher`. Raises InputError if this machine has no ssh."""
        program = shutil.which("ssh")
        if program is None:
            raise InputError("--drivers ssh: ssh was not found on this machine")
        drivers = StartedBySsh(
            program,
            key,
            lambda number: self.command.line(number, join, run, TAKE_KEY),
            lambda number: f"{self.command.part(number, run)}.run",
        )
        try:
            for number, host in enumerate(self.hosts[:count], 1):
                drivers.start(number, host)
            yield drivers
        finally:
            drivers.end()
