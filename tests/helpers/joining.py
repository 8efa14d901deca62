# SPDX-License-Identifier: Apache-2.0
"""A lead process that waits for drivers, and drivers that join it, each started as a user starts it."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from querytape.servers.sandbox import Server

from tests.helpers.primes import prime_set
from tests.helpers.tapes import MS

BOUND_S = 90
PASSWORD = "a-secret-of-the-target"


def shop_with_account(server: Server) -> Server:
    """Create an empty table for the statements of the sessions, and an account with a password. Return the server."""
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    server.execute(f"CREATE USER app@'%' IDENTIFIED BY '{PASSWORD}'")
    server.execute("GRANT ALL ON *.* TO app@'%'")
    return server


class Program:
    """A lead or a driver, started as a user starts it."""

    def __init__(self, *words: object, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "querytape", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def saw(self, pattern: str) -> re.Match[str]:
        """Wait until stderr matches the pattern. Return the match."""
        until = time.monotonic() + BOUND_S
        while not (found := re.search(pattern, "".join(self.lines))):
            assert time.monotonic() < until, "".join(self.lines)
            assert self.process.poll() is None or self._thread.is_alive(), "".join(self.lines)
            time.sleep(0.02)
        return found

    def end(self) -> tuple[int, str]:
        """Wait for the end of the program. Return its exit code and its whole output."""
        out = self.process.stdout.read() if self.process.stdout is not None else ""
        code = self.process.wait(BOUND_S)
        self._thread.join(BOUND_S)
        return code, out + "".join(self.lines)


class Bench:
    """A tape set, a join key, a lead that waits, and drivers that may join it."""

    def __init__(self, shop: Server, folder: Path, stack: ExitStack, tapes: int = 3, gap_ns: int = 20 * MS) -> None:
        self.shop, self.folder, self._stack = shop, folder, stack
        self.tapes = prime_set(folder, tapes, gap_ns)
        self.key = folder / "join.key"
        self.run = folder / "a.run"
        self.logins = folder / "my.cnf"
        self.logins.write_text(f"[client]\nuser=app\npassword={PASSWORD}\n")

    def _given(self) -> list[object]:
        target = f"mysql://127.0.0.1:{self.shop.port}/shop"
        safe = ["--allow-writes", "--target-is-disposable", "--partial-ok"]
        return ["--target", target, "--defaults-file", self.logins, *safe]

    def _program(self, *words: object, **environment: str) -> Program:
        program = Program(*words, **environment)
        self._stack.callback(program.process.kill)
        return program

    def lead(self, *more: object, count: int = 3) -> tuple[Program, int]:
        """Start the lead. Return the program and its port."""
        how = ["--drivers", f"join:{count}", "--listen", "127.0.0.1:0", "--join-key", self.key]
        lead = self._program("replay", self.tapes, *how, "-o", self.run, *self._given(), *more)
        return lead, int(lead.saw(r"drivers at 127\.0\.0\.1:(\d+)")[1])

    def driver(
        self,
        number: int,
        port: int,
        *more: object,
        key: Path | None = None,
        tapes: Path | None = None,
        environment: Mapping[str, str] | None = None,
        login: bool = True,
    ) -> Program:
        """Start a driver that joins the lead. `environment`: more variables. `login`: whether it has the password."""
        how = ["--join", f"127.0.0.1:{port}", "--join-key", key or self.key, "-o", self.folder / f"part-{number}.run"]
        given = [word for word in self._given() if login or word not in ("--defaults-file", self.logins)]
        return self._program("driver", tapes or self.tapes, *how, *given, *more, **(environment or {}))
