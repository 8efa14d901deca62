# SPDX-License-Identifier: Apache-2.0
"""`querytape serve` for a test: a separate process on a free port of 127.0.0.1, and requests with arbitrary headers."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .processes import start

BEGIN_S, ANSWER_S, END_S = 60, 120, 60


@dataclass(frozen=True)
class Answer:
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """Return the body as text."""
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        """Return the parsed JSON body."""
        return json.loads(self.body)


class Served:
    """A running server. `token` is the printed token, or empty. `said` contains the first lines of output."""

    def __init__(self, process: "subprocess.Popen[str]", said: list[str]) -> None:
        self.process = process
        self.said = said
        found = re.search(r"(https?)://([^/]*):(\d+)/", said[0])
        assert found is not None, said
        self.port = int(found[3])
        self.url = f"{found[1]}://{found[2]}:{self.port}"
        self.token = next((line.partition(": ")[2] for line in said if line.startswith("token: ")), "")

    def ask(
        self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: bytes | None = None
    ) -> Answer:
        """Send a request with exactly this path and these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            connection.putrequest(method, path, skip_host="Host" in (headers or {}), skip_accept_encoding=True)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def made(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Request a page until the server has built it."""
        while (answer := self.ask(path, headers)).status == 202:
            pass
        return answer

    def control(self, run: str, what: Any, **headers: str) -> Answer:
        """Send a control request for a run. In the names of `headers`, `_` stands for `-`."""
        sent = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.ask(f"/live/{run}/control", sent, "POST", json.dumps(what).encode())

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """End the server. Return its exit code and the output after its first lines."""
        self.process.send_signal(number)
        _, rest = self.process.communicate(timeout=END_S)
        return self.process.returncode, rest


@contextmanager
def served(folder: Path, *options: str, lines: int = 4, **environment: str) -> Iterator[Served]:
    """Serve a folder during the block. `lines` is the number of lines printed at startup. Later output is an error."""
    command = [sys.executable, "-m", "querytape", "serve", str(folder), "--address", ":0", *options]
    process = start(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    try:
        assert process.stderr is not None
        said = [process.stderr.readline().strip() for _ in range(lines)]
        server = Served(process, said)
        yield server
        if process.returncode is None:
            code, rest = server.end()
            assert (code, rest.strip()) == (130, "querytape: stopped")
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate(timeout=END_S)
