# SPDX-License-Identifier: Apache-2.0
"""Tests of drivers that Ray places on the nodes of a cluster: their numbers, and what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.replay.drivers.launch import DriverCommand
from querytape.replay.drivers.ray_nodes import RayNodes, run_driver
from querytape.replay.drivers.secured import make_key
from querytape.servers.sandbox import Server

from tests.helpers.growing_log import wait_until
from tests.helpers.primes import EVENTS, WRITTEN, balanced, prime_set, written
from tests.helpers.ray_cluster import ray_cluster
from tests.helpers.tapes import MS

BOUND_S = 120
COMMAND = DriverCommand(("a.set",), "a")


def variables(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a cluster or of a lead process. The home of the nodes is a folder of the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**kept, "HOME": str(folder / "home"), **more}


def node_home(folder: Path, gap_ns: int) -> Path:
    """Return the home of the nodes, with a set of two tapes and a key."""
    home = folder / "home"
    home.mkdir()
    shutil.copytree(prime_set(folder, 2, gap_ns), home / "primes.set")
    make_key(home / "join.key")
    return home


def secure(folder: Path) -> dict[str, str]:
    """Return an environment in which every process authenticates with a token."""
    token = folder / "token"
    token.write_text("0123456789abcdef" * 4)
    token.chmod(0o600)
    return variables(folder, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(token))


def lead(shop: Server, address: str, home: Path, environment: dict[str, str], *words: str) -> "subprocess.Popen[str]":
    """Start the lead process in the home of the nodes."""
    target = ["--target", shop.url("shop"), "--allow-writes", "--target-is-disposable", "--partial-ok"]
    command = [sys.executable, "-m", "querytape", "replay", "primes.set", "-o", "a.run", *target]
    return subprocess.Popen(
        [*command, "--drivers", f"ray:{address}", "--join-key", "join.key", *words],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.server
@pytest.mark.slow
def test_drivers_placed_by_ray_give_one_run_and_leave_no_files(shop: Server, tmp_path: Path) -> None:
    """Every process authenticates with a token. No argument contains the join key."""
    home, environment = node_home(tmp_path, 10 * MS), secure(tmp_path)
    with ray_cluster(2, environment) as address:
        _, said = (process := lead(shop, address, home, environment)).communicate(timeout=BOUND_S)
    assert process.returncode == 0, said
    assert balanced(home / "a.run")["executed"] == EVENTS
    assert written(shop) == WRITTEN
    info = json.loads((home / "a.run" / "run.json").read_text())
    assert [driver["tapes"] for driver in info["drivers"]] == [["01.tape"], ["02.tape"]]
    assert len({driver["pid"] for driver in info["drivers"]}) == 2
    assert sorted(path.name for path in home.iterdir()) == ["a.run", "join.key", "primes.set"]


@pytest.mark.long
@pytest.mark.server
def test_drivers_on_ray_finish_after_the_lead_was_killed(shop: Server, tmp_path: Path) -> None:
    """Ray ends the tasks of the lead process, but not the drivers. Ctrl-C at the lead process ends the drivers."""
    home, environment = node_home(tmp_path, 60 * MS), secure(tmp_path)
    with ray_cluster(2, environment) as address:
        process = lead(shop, address, home, environment)
        wait_until(lambda: bool(written(shop)), "the first row")
        process.kill()
        process.communicate(timeout=BOUND_S)
        wait_until(lambda: written(shop) == WRITTEN, "all rows")
        wait_until(lambda: len(list(home.glob("a-*.log"))) == 2, "both logs")
        wait_until(lambda: all("NOT DELIVERED" in log.read_text() for log in home.glob("a-*.log")), "both ends")
        parts = [str(path) for path in home.glob("a-*.run")]
        assert len(parts) == 2
        command = [sys.executable, "-m", "querytape", "collect", "a.run", *parts]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=BOUND_S)
        assert done.returncode == 0, done.stderr
        assert balanced(home / "a.run")["executed"] == EVENTS
        for part in parts:
            shutil.rmtree(part)
        shutil.rmtree(home / "a.run")
        shop.execute("TRUNCATE shop.log")
        process = lead(shop, address, home, environment)
        wait_until(lambda: bool(written(shop)), "the first row")
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=BOUND_S)
        assert process.returncode == 1, said
        assert 0 < balanced(home / "a.run")["executed"] < EVENTS, out
        assert not list(home.glob("a-*.run"))


@pytest.mark.long
@pytest.mark.server
def test_killed_driver_is_replaced_by_another_task(shop: Server, tmp_path: Path) -> None:
    home, environment = node_home(tmp_path, 500 * MS), secure(tmp_path)
    with ray_cluster(2, environment) as address:
        process = lead(shop, address, home, environment, "--on-driver-lost", "resume")
        wait_until(lambda: sum(written(shop).values()) > 30, "some rows")
        victim = json.loads((home / "a.run" / "run.json").read_text())["drivers"][1]
        os.kill(victim["pid"], signal.SIGKILL)
        out, said = process.communicate(timeout=BOUND_S)
    assert process.returncode == 5, said + out
    new = json.loads((home / "a.run" / "run.json").read_text())["drivers"][2]
    assert (new["replaces"], new["tapes"], new["lost"]) == (2, ["02.tape"], None)
    assert shop.execute("SELECT session, seq FROM shop.log GROUP BY session, seq HAVING count(*) > 1") == ()
    assert balanced(home / "a.run")["executed"] > 0


def test_cluster_without_authentication_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lead process checks itself, and each node checks itself."""
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(InputError, match="this command runs without RAY_AUTH_MODE=token"):
        RayNodes("auto", COMMAND).count(3)
    host, code, said = run_driver(["true"], insecure=False)
    assert (code, bool(host)) == (1, True)
    assert "this node runs without RAY_AUTH_MODE=token" in said


def test_node_returns_the_end_of_the_output_of_its_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run_driver(["sh", "-c", "pwd >&2; exit 3"], insecure=True)[1:] == (3, f"{tmp_path}\n")
    assert run_driver(["true"], insecure=True)[1:] == (0, "")


def test_missing_ray_is_an_error_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'querytape\[cluster\]'"):
        RayNodes("auto", COMMAND, insecure=True).count(3)
