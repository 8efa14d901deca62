# SPDX-License-Identifier: Apache-2.0
"""Tests of drivers that the lead process starts with ssh: their numbers, failed starts, and a killed lead process."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.servers.sandbox import Server

from tests.helpers.growing_log import wait_until
from tests.helpers.primes import EVENTS, WRITTEN, balanced, prime_set, written
from tests.helpers.ssh_hosts import SshServer, path_with_ssh, ssh_hosts
from tests.helpers.tapes import MS

pytestmark = pytest.mark.server
HOSTS = ("one", "two", "three")
BOUND_S = 90


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[SshServer]:
    """Three hosts. Each one has a copy of the set."""
    work = tmp_path / "work"
    work.mkdir()
    prime_set(work, 3, gap_ns=40 * MS)
    with ssh_hosts(tmp_path / "hosts", HOSTS, path_with_ssh(tmp_path / "hosts")) as server:
        for host in HOSTS:
            shutil.copytree(work / "primes.set", server.home(host) / "primes.set")
        yield server


def lead(hosts: SshServer, shop: Server, *words: str) -> "subprocess.Popen[str]":
    """Start the lead process in the folder `work`, which is the same for all tests."""
    target = ["--target", shop.url("shop"), "--allow-writes", "--target-is-disposable", "--partial-ok"]
    command = [sys.executable, "-m", "querytape", "replay", "primes.set", "-o", "a.run", *target, *words]
    return subprocess.Popen(
        command,
        cwd=hosts.folder.parent / "work",
        env=path_with_ssh(hosts.folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left(hosts: SshServer) -> list[str]:
    """Return the names of the files that the drivers have left on their hosts."""
    return sorted(path.name for host in HOSTS for path in hosts.home(host).iterdir() if path.name != "primes.set")


def test_drivers_started_by_ssh_give_one_run_and_leave_no_files(hosts: SshServer, shop: Server) -> None:
    """No command line contains the key, because ssh passes it over its standard input."""
    process = lead(
        hosts, shop, "--drivers", "ssh:one,two,three", "--charset=utf8mb4", "--init", "SET @a = 'it''s $HOME'"
    )
    out, said = process.communicate(timeout=BOUND_S)
    assert process.returncode == 0, said
    assert "waiting for 3 drivers at [::]:" in said
    assert "Starting them on one, two, three" in said
    run = hosts.folder.parent / "work" / "a.run"
    assert balanced(run)["executed"] == EVENTS, out
    assert written(shop) == WRITTEN
    assert left(hosts) == []
    assert len(hosts.commands) == 3
    info = json.loads((run / "run.json").read_text())
    assert info["parameters"]["init"] == "SET @a = 'it''s $HOME'"
    assert sorted(name for driver in info["drivers"] for name in driver["tapes"]) == ["01.tape", "02.tape", "03.tape"]
    assert all(abs(driver["offset_ns"]) <= driver["bound_ns"] for driver in info["drivers"])
    assert not any("QUERYTAPE_JOIN_KEY=" in command or "--join-key" in command for command in hosts.commands)


def test_host_without_the_set_is_named_and_no_event_is_sent(hosts: SshServer, shop: Server) -> None:
    shutil.rmtree(hosts.home("two") / "primes.set")
    process = lead(hosts, shop, "--drivers", "ssh:one,two,three")
    _, said = process.communicate(timeout=BOUND_S)
    assert process.returncode != 0
    assert "the driver on two ended before it joined: primes.set: " in said
    assert "No event was sent" in said
    assert written(shop) == {}
    assert left(hosts) == []


def test_host_without_querytape_is_named(hosts: SshServer, shop: Server) -> None:
    hosts.environment["PATH"] = "/usr/bin:/bin"
    process = lead(hosts, shop, "--drivers", "ssh:one")
    _, said = process.communicate(timeout=BOUND_S)
    assert process.returncode != 0
    assert "the driver on one ended before it joined: querytape was not found on this host" in said


def wrap(hosts: SshServer, host: str, before: str) -> None:
    """Run a shell command before ssh connects to this host."""
    program = hosts.folder / "bin" / "ssh"
    text = program.read_text()
    program.write_text(text.replace("exec", f'case "$*" in *" -- {host} "*) {before} ;; esac\nexec', 1))


def test_hanging_host_is_named(hosts: SshServer, shop: Server) -> None:
    wrap(hosts, "two", "exec sleep 300")
    process = lead(hosts, shop, "--drivers", "ssh:one,two,three", "--gather", "6s")
    _, said = process.communicate(timeout=BOUND_S)
    assert process.returncode != 0
    assert "querytape: two did not join within 6 s. No event was sent" in said
    assert left(hosts) == []


def test_end_of_ssh_after_its_driver_has_joined_changes_nothing(hosts: SshServer, shop: Server) -> None:
    """The last driver joins later, so the lead process still waits for it."""
    wrap(hosts, "three", "sleep 6")
    process = lead(hosts, shop, "--drivers", "ssh:one,two,three")
    wait_until(lambda: len(list(hosts.folder.glob("*/*.run"))) == 2, "two drivers that plan their tapes")
    hosts.cut()
    _, said = process.communicate(timeout=BOUND_S)
    assert process.returncode == 0, said
    assert written(shop) == WRITTEN


def test_unknown_host_is_reported_with_the_message_of_ssh(hosts: SshServer, shop: Server) -> None:
    process = lead(hosts, shop, "--drivers", "ssh:one,nowhere.invalid")
    _, said = process.communicate(timeout=BOUND_S)
    assert process.returncode != 0
    assert "the driver on nowhere.invalid ended before it joined: ssh: " in said


def test_drivers_finish_after_the_lead_was_killed_and_collect_adds_their_parts(hosts: SshServer, shop: Server) -> None:
    """The end of ssh does not end a driver either. The drivers keep their parts and their logs."""
    work = hosts.folder.parent / "work"
    process = lead(hosts, shop, "--drivers", "ssh:one,two,three")
    wait_until(lambda: bool(written(shop)), "the first row")
    process.send_signal(signal.SIGKILL)
    hosts.cut()
    process.communicate(timeout=BOUND_S)
    wait_until(lambda: all(program.returncode is not None for program in hosts.programs), "the end of all drivers")
    assert written(shop) == WRITTEN
    parts = [str(path) for host in HOSTS for path in hosts.home(host).glob("*.run")]
    assert len(parts) == 3, left(hosts)
    assert len([name for name in left(hosts) if name.endswith(".log")]) == 3
    command = [sys.executable, "-m", "querytape", "collect", "a.run", *parts]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=BOUND_S)
    assert done.returncode == 0, done.stderr
    assert balanced(work / "a.run")["executed"] == EVENTS


def slow_run(hosts: SshServer, shop: Server) -> "tuple[subprocess.Popen[str], Path]":
    """Start a replay of half a minute that replaces lost drivers. Return its process and its run after some rows."""
    work = hosts.folder.parent / "work"
    shutil.rmtree(work / "primes.set")
    shutil.rmtree(work / "primes.tape")
    prime_set(work, 3, gap_ns=400 * MS)
    for host in HOSTS:
        shutil.rmtree(hosts.home(host) / "primes.set")
        shutil.copytree(work / "primes.set", hosts.home(host) / "primes.set")
    process = lead(hosts, shop, "--drivers", "ssh:one,two,three", "--on-driver-lost", "resume")
    wait_until(lambda: sum(written(shop).values()) > 30, "some rows")
    return process, work / "a.run"


@pytest.mark.long
def test_killed_driver_is_replaced_on_its_host(hosts: SshServer, shop: Server) -> None:
    """The lost driver leaves its part on the host. The new driver delivers its part."""
    process, run = slow_run(hosts, shop)
    victim = json.loads((run / "run.json").read_text())["drivers"][1]
    os.kill(victim["pid"], signal.SIGKILL)
    out, said = process.communicate(timeout=BOUND_S)
    assert process.returncode == 5, said
    assert "driver 4 " in out, out
    lost, new = (json.loads((run / "run.json").read_text())["drivers"][number] for number in (1, 3))
    assert lost["lost"]
    assert (new["replaces"], new["tapes"], new["lost"]) == (2, lost["tapes"], None)
    assert shop.execute("SELECT session, seq FROM shop.log GROUP BY session, seq HAVING count(*) > 1") == ()
    assert balanced(run)["executed"] > 0
    assert len([name for name in left(hosts) if name.endswith(".run")]) == 1


@pytest.mark.long
def test_lead_ends_if_no_host_can_start_a_new_driver(hosts: SshServer, shop: Server) -> None:
    """All drivers are killed at once, and two hosts have lost the set. The third host has its new driver."""
    process, run = slow_run(hosts, shop)
    for host in ("one", "two"):
        shutil.rmtree(hosts.home(host) / "primes.set")
    for driver in json.loads((run / "run.json").read_text())["drivers"]:
        os.kill(driver["pid"], signal.SIGKILL)
    out, said = process.communicate(timeout=BOUND_S)
    assert process.returncode == 5, said
    assert "Traceback" not in said
    assert said.count("3 new drivers failed") == 2
    drivers = json.loads((run / "run.json").read_text())["drivers"]
    assert sum(driver["replaces"] is not None and driver["lost"] is None for driver in drivers) == 1, out
    assert shop.execute("SELECT session, seq FROM shop.log GROUP BY session, seq HAVING count(*) > 1") == ()
    assert balanced(run)["executed"] > 0
