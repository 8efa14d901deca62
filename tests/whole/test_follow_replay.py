# SPDX-License-Identifier: Apache-2.0
"""A replay that follows a tape during its capture. The capture ends normally, is killed, or drops parts."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.command_line import run_here
from tests.helpers.growing_log import wait_until
from tests.helpers.processes import start
from tests.helpers.tiers import mostly_long

from ..conftest import ServerFactory

CLIENTS = 4
PAUSE_S = 0.01


class Traffic:
    """Clients that insert numbers until they are stopped. Each connection inserts a few numbers."""

    def __init__(self, server: Server) -> None:
        self._server, self._stop = server, threading.Event()
        self._counts = [0] * CLIENTS
        self._threads = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    @property
    def sent(self) -> int:
        """Return the number of inserted rows."""
        return sum(self._counts)

    def _work(self, client: int) -> None:
        while not self._stop.is_set():
            with self._server.connect("shop", autocommit=False) as con, con.cursor() as cursor:
                for _ in range(6):
                    cursor.execute(f"INSERT INTO t VALUES ({self._counts[client] * CLIENTS + client})")
                    con.commit()
                    self._counts[client] += 1
                    time.sleep(PAUSE_S)

    def stop(self) -> None:
        """Stop all clients and wait until their connections end."""
        self._stop.set()
        for thread in self._threads:
            thread.join()


class Scene:
    """A server with traffic, a capture that follows the server's log, and a replay that follows the tape. The replay
    sends the events to another server.
    """

    def __init__(self, source: Server, target: Server, folder: Path, *capture: str) -> None:
        for server in (source, target):
            server.execute("CREATE DATABASE shop")
            server.execute("CREATE TABLE shop.t (n INT PRIMARY KEY)")
        self.source, self.target, self.folder = source, target, folder
        self.tape, self.run, self.own = folder / "live.tape", folder / "now.run", folder / "now.tape"
        log = str(source.slow_log)
        command = [sys.executable, "-m", "querytape", "capture", "slowlog", log, "--follow", "--from-end"]
        self.capture = start(
            [*command, "--part-every", "300ms", *capture, "-o", str(self.tape)], stdout=subprocess.PIPE
        )
        wait_until(lambda: (self.tape / "tape.json").exists(), "the capture begins")
        self.traffic = Traffic(source)
        wait_until(lambda: self.published > 20, "something is published")

    @property
    def published(self) -> int:
        """Return the number of published events in tape.json."""
        info = json.loads((self.tape / "tape.json").read_text())
        return int((info.get("published") or {}).get("events", 0))

    @property
    def arrived(self) -> int:
        """Return the number of rows on the target."""
        return int(self.target.execute("SELECT count(*) FROM shop.t")[0][0])

    def replay(self, *options: str) -> "subprocess.Popen[str]":
        """Start a replay that follows the tape of the capture."""
        command = [sys.executable, "-m", "querytape", "replay", str(self.tape), "--follow", "--target"]
        command += [self.target.url(), "--allow-writes", "--target-is-disposable", "--partial-ok", *options]
        return start([*command, "-o", str(self.run)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def info(self) -> dict[str, Any]:
        return open_folder("run", self.run).info


@pytest.fixture(params=mostly_long(["mariadb", "mysql80"], "mariadb"))
def servers(
    request: pytest.FixtureRequest, mariadb_factory: ServerFactory, mysql80_factory: ServerFactory
) -> tuple[Server, Server]:
    """Start a target, and a server that writes every statement to its slow log."""
    factory = mariadb_factory if request.param == "mariadb" else mysql80_factory
    logs = {"slow_query_log": "1", "long_query_time": "0"}
    # A slow log has no Quit commands. Sessions of the replay therefore stay open, and the target needs many
    # connections.
    return factory(logs), factory({"max_connections": "1000"})


def test_tape_is_replayed_during_its_capture(servers: tuple[Server, Server], tmp_path: Path) -> None:
    """The replay also sends events that were captured after the replay started, until the capture ends. The accounting
    balances.
    """
    scene = Scene(*servers, tmp_path)
    replay = scene.replay()
    wait_until(lambda: scene.arrived > 0, "the replay sends")
    before = scene.traffic.sent
    wait_until(lambda: scene.arrived > before, "it goes on with what was published later")
    scene.traffic.stop()
    wait_until(lambda: scene.published >= scene.traffic.sent, "it is published")
    scene.capture.send_signal(signal.SIGTERM)
    assert scene.capture.wait() == 0
    out, err = replay.communicate()
    assert replay.returncode == 0, out + err
    assert "was still growing when the replay began" in out.splitlines()[0]
    info, tape = scene.info(), open_folder("tape", scene.own)
    assert scene.arrived == scene.traffic.sent
    assert (info["accounting"]["balanced"], info["accounting"]["not_sent"], info["partial"]) == (True, 0, None)
    assert (info["follow"]["ended"], info["follow"]["lost"]) == ("finished", 0)
    assert info["tape"]["events"] == tape.info["counts"]["events"]
    assert tape.info["counts"] == open_folder("tape", scene.tape).info["counts"]


@pytest.mark.long
@pytest.mark.parametrize("how", ["capture killed", "replay stopped", "replay killed", "parts dropped"])
def test_accounting_is_complete_if_capture_or_replay_ends_early(
    mariadb_factory: ServerFactory, tmp_path: Path, how: str
) -> None:
    """Published events are replayed. Lost events are reported in the first output lines and by the exit code."""
    servers = mariadb_factory({"slow_query_log": "1", "long_query_time": "0"}), mariadb_factory({})
    scene = Scene(*servers, tmp_path, *(("--keep", "1s") if how == "parts dropped" else ()))
    replay = scene.replay()
    wait_until(lambda: scene.arrived > 0, "the replay sends")
    if how == "replay killed":
        replay.kill()
    elif how == "replay stopped":
        replay.send_signal(signal.SIGINT)
    elif how == "parts dropped":
        replay.send_signal(signal.SIGSTOP)
        taken = scene.published  # upper bound of the number of events that the replay has read
        wait_until(lambda: dropped(scene.tape) > taken, "parts went that it had not taken")
        replay.send_signal(signal.SIGCONT)
    out, err = ("", "")
    if how.startswith("replay"):
        out, err = replay.communicate()
    scene.traffic.stop()
    scene.capture.send_signal(signal.SIGKILL if how == "capture killed" else signal.SIGTERM)
    scene.capture.wait()
    if not how.startswith("replay"):
        out, err = replay.communicate()
    completed = run_here("inspect", str(scene.own), "--json")
    assert completed.code == 0, completed.err
    kinds = {warning["kind"] for warning in open_folder("tape", scene.own).info["warnings"]}
    assert {
        "capture killed": "killed",
        "replay stopped": "snapshot",
        "replay killed": "killed",
        "parts dropped": "lost",
    }[how] in kinds
    if how == "replay killed":
        return
    info = scene.info()
    assert replay.returncode == 1, out + err
    assert info["accounting"]["balanced"], (out, err)
    assert info["partial"]
    assert (info["follow"]["lost"] > 0) == (how == "parts dropped") == ("LOST: " in out.splitlines()[1])
    sent = scene.target.execute("SELECT count(*), max(n) FROM shop.t")[0]
    assert info["accounting"]["executed"] >= sent[0] > 0
    if how == "capture killed":
        assert info["accounting"]["not_sent"] == 0


def dropped(tape: Path) -> int:
    """Return the number of events that --keep has dropped."""
    info = json.loads((tape / "tape.json").read_text())
    return int((info.get("dropped") or {}).get("events", 0))
