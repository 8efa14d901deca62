# SPDX-License-Identifier: Apache-2.0
"""Processes of the command line, forked from a process that has already loaded the program.

`python -m tests.helpers.forked_commands` reads one JSON list per line: folder, output file, TMPDIR, arguments. It
replies with the process id. When the process has ended, it replies with the exit status.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from querytape.common.leaving import leave_at_once
from querytape.common.signals import ENDING


class Forked:
    """A process started by the ForkServer. It has the methods of Popen that the kill tests need."""

    def __init__(self, fork_server: "ForkServer", pid: int) -> None:
        self._server = fork_server
        self.pid = pid
        self.returncode: int | None = None

    def wait(self, timeout: float = 86400) -> int:
        """Wait until the process ends and return its exit code. Raises TimeoutExpired."""
        if self.returncode is None:
            ready = self._server.wait(timeout)
            if ready is None:
                raise subprocess.TimeoutExpired("querytape", timeout)
            self.returncode = ready
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal if the process still runs. Its process id cannot be reused before its exit status is read."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The process that forks commands. It has at most one child at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.helpers.forked_commands"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._said = self._process.stdout.fileno()
        self._line()  # wait for the line "ready"

    def start(self, folder: Path, words: Path, temporary: Path, arguments: Sequence[str]) -> Forked:
        """Start the command line."""
        assert self._process.stdin is not None
        line = json.dumps([str(folder), str(words), str(temporary), list(arguments)])
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        return Forked(self, int(self._line()))

    def wait(self, timeout: float) -> int | None:
        """Return the exit status of the child, or None after a timeout."""
        if not select.select([self._said], [], [], timeout)[0]:
            return None
        number = int(self._line())
        os.write(self._process.stdin.fileno(), b"\n")  # type: ignore[union-attr]
        return number

    def close(self) -> None:
        """End the fork server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._said, 1)
            if not byte:
                raise AssertionError("the fork_server is gone")
            line += byte
        return line


def main() -> None:
    """Load the program, then fork a process for each request."""
    import duckdb  # noqa: F401
    from querytape.cli.main import main as command_line

    for each in ("replay", "compare", "sweep", "tape", "report", "capture"):
        try:
            sys.argv = ["querytape", each, "--help"]
            with open(os.devnull, "w") as sys.stdout:  # noqa: PTH123
                command_line()
        except SystemExit:
            pass
    sys.stdout = sys.__stdout__
    os.write(1, b"ready\n")
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if pid == 0:
            child(json.loads(line), command_line)
        os.write(1, b"%d\n" % pid)
        info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert info is not None
        status = info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
        os.write(1, b"%d\n" % status)
        sys.stdin.readline()  # after this line the parent may reap the process, and its id may be reused
        os.waitpid(pid, 0)
    os._exit(0)


def child(given: list[Any], command_line: Any) -> None:
    """Run the command line in the forked child."""
    folder, words, temporary, arguments = given
    os.setsid()
    os.chdir(folder)
    os.environ["TMPDIR"] = temporary
    out = os.open(words, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    sys.argv = ["querytape", *arguments]
    leave_at_once(command_line)


if __name__ == "__main__":
    main()
