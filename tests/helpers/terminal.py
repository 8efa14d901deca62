# SPDX-License-Identifier: Apache-2.0
"""Run a command in its own terminal. Tests see its screen at any moment and the final screen."""

import fcntl
import os
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import pyte

from tests.helpers.processes import start

PATIENCE_S = 120


class Terminal:
    """Runs a command with a terminal of this size as stderr, and optionally as stdin and stdout. A context manager."""

    def __init__(
        self,
        command: Sequence[str],
        columns: int = 80,
        rows: int = 24,
        stdout: int | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._ours, theirs = os.openpty()
        self._size(columns, rows)
        self.before = termios.tcgetattr(self._ours)
        environ = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environ.pop(name, None)
        self.process = start(
            command,
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            env={**environ, **(env or {})},
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        """Resize the terminal window."""
        self._size(columns, rows)
        self.screen.resize(rows, columns)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def type(self, keys: str) -> None:
        """Type keys. The command does not read them, but the terminal echoes them."""
        os.write(self._ours, keys.encode())

    @property
    def seen(self) -> str:
        """Return the visible text of the window."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def all(self) -> str:
        """Return the text of the window, including lines that scrolled out at the top."""
        above = ["".join(row[column].data for column in range(self.screen.columns)) for row in self.screen.history.top]
        return "\n".join([*(line.rstrip() for line in above), self.seen])

    def until(self, shows: Callable[[str], object], what: str = "") -> str:
        """Read until the window shows the expected text, and return the text. Fails if the command ends first."""
        end = time.monotonic() + PATIENCE_S
        while not (self._quiet() and shows(self.seen)):
            assert time.monotonic() < end, f"{what}: not seen:\n{self.seen}"
            assert self._read(), f"{what}: it ended:\n{self.all}"
        return self.seen

    def _quiet(self) -> bool:
        """Return whether no output arrives for 50 ms. A block of output is then complete."""
        return not select.select([self._ours], [], [], 0.05)[0]

    def to_the_end(self) -> int:
        """Read until the command ends, and return its exit code."""
        end = time.monotonic() + PATIENCE_S
        while self._read():
            assert time.monotonic() < end, f"it did not end:\n{self.seen}"
        return self.process.wait(PATIENCE_S)

    def _read(self) -> bool:
        """Read the available output for at most a second. Return False after the command has ended and all output is
        read.
        """
        if not select.select([self._ours], [], [], 1)[0]:
            return self.process.poll() is None
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:  # EIO: the command has closed the terminal
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    def assert_sane(self) -> None:
        """Check the terminal: visible cursor, no alternate screen, unchanged terminal settings."""
        assert b"\x1b[?25l" not in self.raw or self.raw.rindex(b"\x1b[?25h") > self.raw.rindex(b"\x1b[?25l")
        assert b"\x1b[?1049" not in self.raw
        assert b"\x1b[?47" not in self.raw
        assert not self.screen.cursor.hidden
        assert termios.tcgetattr(self._ours) == self.before
