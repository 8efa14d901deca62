# SPDX-License-Identifier: Apache-2.0
"""The command that starts a driver on another host, and what the lead process needs from a program that runs it there.

The command is the same for each program: `querytape driver` in a POSIX shell.
"""

import shlex
import sys
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from ...common.text import printable

TAKE_KEY = "read -r QUERYTAPE_JOIN_KEY; export QUERYTAPE_JOIN_KEY\n"


class Started(Protocol):
    """Drivers that were started on other hosts. `joined`: names of the parts of the drivers that have joined."""

    def problem(self, joined: Collection[str], part: str | None = None) -> str | None:
        """Return why a driver that has not joined will not join. Return None while it still may.

        `part`: look only at the driver with this part.
        """

    def part(self, number: int) -> str:
        """Return the name of the part of driver `number`."""

    def waiting(self, joined: Collection[str]) -> str:
        """Return the hosts whose drivers have not joined."""

    def start_again(self, part: str, number: int) -> None:
        """Start driver `number` in place of the lost driver that had this part."""


class Launcher(Protocol):
    """Starts one `querytape driver` on each of several hosts.

    `carries_key`: whether it gives the join key to the drivers over a private connection.
    """

    carries_key: bool

    @property
    def where(self) -> str:
        """The hosts in messages."""

    def count(self, tapes: int) -> int:
        """Return how many drivers it starts for a set of this many tapes."""

    def started(self, join: str, key: bytes, run: str, count: int) -> AbstractContextManager["Started"]:
        """Start `count` drivers, and end what started them when the block ends.

        - `join`: address of the lead process, `HOST:PORT` or `:PORT`.
        - `run`: the id of the run.
        """


@dataclass(frozen=True)
class DriverCommand:
    """The tape and the options of a driver, as words of the command line. `stem`: the run's name without `.run`."""

    words: tuple[str, ...]
    stem: str

    def part(self, number: int, run: str) -> str:
        """Return the name of the part of driver `number`."""
        return f"{self.stem}-{run[:8]}-{number}"

    def shell(self, number: int, join: str, run: str, before: str = "") -> list[str]:
        """Return the words that start driver `number`. `before` is a part of the script that runs first."""
        own = str(Path(sys.argv[0]).absolute())
        script = before + (files(__package__) / "start_driver.sh").read_text(encoding="utf-8")
        return ["sh", "-c", script, "sh", self.part(number, run), join, own, *self.words]

    def line(self, number: int, join: str, run: str, before: str = "") -> str:
        """Return the same as one line for the login shell of a host."""
        return shlex.join(self.shell(number, join, run, before))


def why_ended(host: str, code: int, said: str) -> str:
    """Return a message about a driver that ended before it joined. `said`: the end of its output."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = (
        printable(lines[-1], 500).removeprefix("querytape: ").removeprefix("Error: ") if lines else f"exit code {code}"
    )
    return f"the driver on {host} ended before it joined: {last.rstrip('.')}"
