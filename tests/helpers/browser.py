# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, controlled with the DevTools protocol over a pipe.

The tests need no network and no driver.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ..conftest import skip_loudly

AT_MOST_S = 60.0


class Browser:
    """A headless Chromium with one page, used as a context manager.

    `host` is the only host that Chromium can reach. By default, Chromium reaches no host.
    """

    def __init__(self, program: str, profile: Path, host: str | None = None) -> None:
        ours, theirs = os.pipe(), os.pipe()
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--window-size=1200,900",
        ]
        but = f" , EXCLUDE {host}" if host else ""
        options += [f"--host-resolver-rules=MAP * ~NOTFOUND{but}", f"--user-data-dir={profile}", "--no-first-run"]
        # The browser reads from descriptor 3 and writes to descriptor 4.
        command = f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", command, "browser", program, *options, "about:blank"],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = ours[1], theirs[0]
        self._waiting, self._number = b"", 0
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = None
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)

    def open(self, url: str) -> None:
        """Open a page and wait until its script has run."""
        self._ask("Page.navigate", url=url)
        until = time.monotonic() + AT_MOST_S
        while not self.run("document.documentElement?.dataset.ready === '1'"):
            assert time.monotonic() < until, f"{url}: the page's script did not come to its end"
            time.sleep(0.1)

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        """Set the screen size and the light or dark colour scheme."""
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])

    def as_printed(self, width: int) -> None:
        """Show pages in print layout, with a text width of `width`."""
        self.resize(width, 1000)
        self._ask("Emulation.setEmulatedMedia", media="print")

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression. A promise is awaited."""
        found = self._ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def _ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> Any:
        while b"\0" not in self._waiting:
            piece = os.read(self._from, 1 << 16)
            assert piece, "the browser has ended"
            self._waiting += piece
        first, _, self._waiting = self._waiting.partition(b"\0")
        return json.loads(first)


def browser(tmp_path: Path, request: pytest.FixtureRequest, host: str | None = None) -> Browser:
    """Start a browser that can reach no host, or only `host`. Skips the test with a message if Chromium is missing."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        skip_loudly(request, "no chromium: the HTML report is not opened in a browser")
    assert program is not None
    return Browser(program, tmp_path / "profile", host)
