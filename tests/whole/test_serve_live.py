# SPDX-License-Identifier: Apache-2.0
"""A real browser with the page of a real replay against MariaDB. The browser pauses, speeds up and stops the replay."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from querytape.servers.sandbox import Server

from tests.helpers.browser import Browser, browser
from tests.helpers.processes import start
from tests.helpers.served import Served, served
from tests.helpers.tapes import SECOND, T0, make_tape

pytestmark = [pytest.mark.browser, pytest.mark.long]

WAIT_S = 120
STATE = "document.getElementById('state').textContent"


def wait_for(page: Browser, script: str) -> Any:
    """Wait until an expression of the page is true, and return its value."""
    until = time.monotonic() + WAIT_S
    while not (value := page.run(f"document.readyState === 'complete' && ({script})")):
        assert time.monotonic() < until, (script, page.run(STATE))
        time.sleep(0.2)
    return value


def give_token(page: Browser, token: str) -> None:
    """Type a token into the form of the page, and submit the form."""
    page.run("document.querySelector('details').open = true")
    page.run(f"document.getElementById('token').value = {json.dumps(token)}")
    page.run("document.querySelector('#token-form button').click()")


def done(server: Served) -> int:
    """Return the number of finished events in the ticks written so far."""
    return int(server.ask("/live/a.run/ticks").json["figures"]["done"].replace(",", "").replace("-", "0"))


def test_browser_controls_a_running_replay(shop: Server, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The charts grow. A wrong token gives no access. The buttons pause, resume and stop the run, and change its speed."""
    root = tmp_path / "folder"
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * SECOND // 10} for n in range(6000)]
    tape = make_tape(root / "t.tape", events)
    command = [
        sys.executable,
        "-m",
        "querytape",
        "replay",
        str(tape),
        "--target",
        shop.url("shop"),
        "-o",
        str(root / "a.run"),
    ]
    replaying = start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (root / "a.run" / "run.json").exists():
            assert replaying.poll() is None
            time.sleep(0.1)
        with served(root) as server, browser(tmp_path, request, "127.0.0.1") as page:
            page.open(f"{server.url}/live/a.run")
            wait_for(page, "document.querySelectorAll('[data-live=throughput] svg path[d]').length > 0")
            wait_for(page, f"{STATE} === 'running at speed 1'")
            assert page.run("document.getElementById('pause') === null")
            give_token(page, "this-is-not-the-token")
            wait_for(page, "document.getElementById('token-said').textContent === 'wrong token'")
            give_token(page, server.token)
            wait_for(page, "document.getElementById('pause') !== null")
            assert page.run("document.cookie") == ""  # scripts of the page cannot read the cookie
            steer(page, server)
            link = "document.querySelector('#ended a').href"
            assert wait_for(page, f"document.querySelector('#ended a') && {link}") == f"{server.url}/run/a.run"
            replaying.wait(WAIT_S)
            server.made("/run/a.run")
            page.open(f"{server.url}/run/a.run")
            wait_for(page, "document.querySelectorAll('.chart svg').length > 0")
    finally:
        if replaying.poll() is None:
            replaying.kill()
            replaying.wait()
    info = json.loads((root / "a.run" / "run.json").read_text())
    assert [change["speed"] for change in info["speed_changes"]] == ["0", "1", "3"]
    assert info["partial"] is not None
    assert info["accounting"]["balanced"]
    assert [name for name in ("speed", "stop") if (root / "a.run" / name).exists()] == []


def steer(page: Browser, server: Served) -> None:
    """Press pause, resume, a new speed and stop, and check the run after each."""
    page.run("document.getElementById('pause').click()")
    wait_for(page, f"{STATE} === 'paused'")
    time.sleep(5)  # time until earlier results are written
    before = done(server)
    time.sleep(5)
    assert done(server) == before
    page.run("document.getElementById('pause').click()")
    wait_for(page, f"{STATE} === 'running at speed 1'")
    until = time.monotonic() + WAIT_S
    while done(server) <= before:
        assert time.monotonic() < until
        time.sleep(0.5)
    page.run("document.getElementById('factor').value = '3'")
    page.run("document.querySelector('#speed-form button').click()")
    wait_for(page, f"{STATE} === 'running at speed 3'")
    time.sleep(2.5)  # the replay reads requests once a second
    page.run("document.getElementById('stop').click()")
    assert page.run("document.getElementById('stop').textContent") == "Press again to stop"
    page.run("document.getElementById('stop').click()")
    wait_for(page, f"['stopping', 'has ended'].includes({STATE})")
