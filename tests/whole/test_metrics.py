# SPDX-License-Identifier: Apache-2.0
"""`--metrics` of whole commands: where it can't be served nothing is sent; whoever asks holds nothing up."""

import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from querytape.servers.sandbox import Server

from tests.helpers.command_line import run_here
from tests.helpers.scrapes import scrape
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.mariadb


def begun(*arguments: str) -> tuple["subprocess.Popen[str]", str]:
    """Start a command with `--metrics :0`; return it and where its page is."""
    command = [sys.executable, "-m", "querytape", *arguments, "--metrics", ":0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.match(r"metrics: (http://127\.0\.0\.1:\d+/metrics)$", line):
            return process, found[1]
    raise AssertionError(process.communicate())


def until(process: "subprocess.Popen[str]", words: str) -> None:
    """Read what the command says until a line has these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("command", ["replay"])
def test_a_port_in_use(command: str, mariadb: Server, tmp_path: Path) -> None:
    """One sentence and exit code 1, before anything is written or sent."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        before = int(mariadb.execute("SHOW GLOBAL STATUS LIKE 'Connections'")[0][1])
        words = [*arguments_of(command, tape, mariadb, tmp_path / "out"), "--metrics", f":{port}"]
        ended = run_here(*words)
        after = int(mariadb.execute("SHOW GLOBAL STATUS LIKE 'Connections'")[0][1])
    sentence = f"querytape: --metrics 127.0.0.1:{port}: Address already in use; port 0 takes a free one\n"
    assert (ended.code, ended.out, ended.err) == (1, "", sentence)
    assert not (tmp_path / "out").exists()
    assert after - before <= 1


def arguments_of(command: str, tape: Path, server: Server, output: Path) -> list[str]:
    """Return the words of a command that sends the tape to a server."""
    return [command, str(tape), "--target", server.url(), "-o", str(output)]


def test_the_run_ends_though_somebody_asks(mariadb: Server, tmp_path: Path) -> None:
    """With connections that hang, half a request on each, the run is whole and its process ends."""
    events = [{"statement": f"SELECT {n}", "start_ns": T0 + n * 50 * MS} for n in range(40)]
    tape = make_tape(tmp_path / "t.tape", events)
    process, url = begun("replay", str(tape), "--target", mariadb.url(), "-o", str(tmp_path / "a.run"))
    port = int(url.split(":")[2].partition("/")[0])
    until(process, "time   open")
    assert scrape(url).get("querytape_replay_planned_events") == 40
    with ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            connection.sendall(b"GET /met")
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "40 events = 40 executed" in out
    assert "Traceback" not in err
