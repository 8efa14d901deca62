# SPDX-License-Identifier: Apache-2.0
"""Runs the demo of several drivers: three drivers on three hosts replay one tape set into one run.

The command is `python -m querytape.demo.fleet FOLDER`. Without root, all drivers run on this host.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..common.errors import QuerytapeError
from ..servers.sandbox import start_server
from .hosts import ADDRESS, make_bridge, possible, start_on_host
from .run import PRODUCTION, Demo, Show, Style, needs_mariadb, open_demo, warm_up

DRIVERS, PORT, PASSWORD = 3, 7000, "of-the-demo"
OWN_NETWORK = "QUERYTAPE_DEMO_NETWORK"  # set in the process that has its own network namespace
BOUND_S = 120


def run_fleet_demo(show: Show, folder: Path, seconds: float, hosts: bool) -> None:
    """Record the shop, deal its tape, replay the set with three drivers, and report the run.

    `hosts`: whether each driver runs on its own host. Raises TargetError if this machine has no MariaDB.
    """
    needs_mariadb()
    began = time.monotonic()
    with open_demo(show, folder) as demo:
        data = demo.record(seconds, demo.servers / "before")
        demo.capture()
        demo.title(3, "Split the tape for three drivers")
        demo.querytape("tape deal shop.tape 3", "-o shop.set")
        demo.title(4, "Replay the set with three drivers")
        if hosts:
            demo.say(
                "Each driver runs in its own network namespace, with a clock that is days or months ahead. The lead"
                " process measures the difference of the clocks."
            )
        else:
            demo.say("This account cannot create network namespaces, so all drivers run on this host.")
        config = {**PRODUCTION, "bind-address": "0.0.0.0", "skip-name-resolve": "ON"}
        with start_server("mariadb", demo.servers / "copy", config, template=data) as server:
            server.execute(f"CREATE USER app@'%' IDENTIFIED BY '{PASSWORD}'")
            server.execute("GRANT ALL ON *.* TO app@'%'")
            warm_up(server)
            (demo.folder / "my.cnf").write_text(f"[client]\nuser=app\npassword={PASSWORD}\n")
            address = ADDRESS if hosts else "127.0.0.1"
            replay_on_hosts(demo, address, f"mysql://app@{address}:{server.port}/shop", hosts)
        demo.title(5, "Report the run of all drivers")
        demo.querytape("report shop.set shop.run", "--html report.html")
        demo.say(f"Done in {time.monotonic() - began:.0f} s. All servers are stopped. All files are in {demo.folder}")


def replay_on_hosts(demo: Demo, address: str, target: str, hosts: bool) -> None:
    """Start the lead process, then one driver on each host. Raises QuerytapeError if one of them fails."""
    options = [
        "--join-key join.key",
        f"--target {target}",
        "--defaults-file my.cnf",
        "--allow-writes",
        "--target-is-disposable",
    ]
    lead = ["replay shop.set", f"--drivers join:{DRIVERS}", f"--listen {address}:{PORT}", "-o shop.run", *options]
    demo.show_command("$ querytape", *lead)
    drivers: list[subprocess.Popen[str]] = []
    with subprocess.Popen(words(lead), cwd=demo.folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            demo.show(line.rstrip("\n"), "text")
            if not drivers and line.startswith("waiting for"):
                for number in range(DRIVERS):
                    own = ["driver shop.set", f"--join {address}:{PORT}", f"-o part{number + 1}.run", *options]
                    demo.show_command(f"host{number + 1 if hosts else ''}$ querytape", *own)
                    drivers.append(start(number, words(own), demo.folder, hosts))
    ended = [driver.communicate(timeout=BOUND_S)[0].strip().splitlines() for driver in drivers]
    if process.returncode or any(driver.returncode for driver in drivers):
        said = "\n".join(lines[-1] for lines in ended if lines)
        raise QuerytapeError(f"the replay with three drivers failed\n{said}")
    info = json.loads((demo.folder / "shop.run" / "run.json").read_text(encoding="utf-8"))
    demo.show("", "text")
    for driver in info["drivers"]:
        ahead, bound = driver["offset_ns"] / 1e9, driver["bound_ns"] / 1e3
        demo.say(f"The clock of driver {driver['number']} was {ahead:,.6f} s ahead (error at most {bound:.0f} us).")


def words(parts: Sequence[str]) -> list[str]:
    """Return the words of a querytape command."""
    return [sys.executable, "-m", "querytape", *" ".join(parts).split()]


def start(number: int, command: Sequence[str], folder: Path, hosts: bool) -> "subprocess.Popen[str]":
    """Start a driver on its own host, or on this host."""
    if hosts:
        return start_on_host(number, ["env", "--chdir", folder, *command])
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def show(text: str, style: Style) -> None:
    """Print a text of the demo."""
    print(text, flush=True)


def main() -> None:
    """Run the demo of several drivers, if possible in a network namespace of its own."""
    parser = argparse.ArgumentParser(prog="make fleet-demo", description="Replay one set with three drivers.")
    parser.add_argument("folder", type=Path, help="folder for the tape, the run and the report")
    parser.add_argument("--seconds", type=float, default=20, help="duration of the workload (default 20)")
    given = parser.parse_args()
    inside = os.environ.pop(OWN_NETWORK, "")
    if not inside and possible():
        os.environ[OWN_NETWORK] = "1"
        program = [sys.executable, "-m", "querytape.demo.fleet"]
        os.execvp("unshare", ["unshare", "--net", *program, str(given.folder), "--seconds", str(given.seconds)])
    if inside:
        make_bridge()
    try:
        run_fleet_demo(show, given.folder, given.seconds, hosts=bool(inside))
    except QuerytapeError as error:
        sys.exit(f"querytape: {error}")


if __name__ == "__main__":
    main()
