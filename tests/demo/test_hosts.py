# SPDX-License-Identifier: Apache-2.0
"""Tests of hosts on one machine. tests/whole/test_drivers_on_hosts.py tests drivers on such hosts."""

import subprocess
import sys

import pytest
from querytape.demo.hosts import ADDRESS, EPOCHS_S, possible

from tests.conftest import skip_loudly

SCRIPT = f"""
import socket, sys, time
from querytape.demo.hosts import make_bridge, start_on_host
make_bridge()
server = socket.create_server(("{ADDRESS}", 0))
code = "import socket, time; socket.create_connection(server, 20); print(time.monotonic())"
code = code.replace("server", repr(server.getsockname()))
hosts = [start_on_host(number, [sys.executable, "-c", code]) for number in (0, 1)]
print(*[host.communicate(timeout=60)[0].strip() for host in hosts], time.monotonic())
"""


# Prints the MAC address of the bridge before, with and after a host whose link has the lowest address.
ADDRESSES = """
import subprocess
from querytape.demo.hosts import ip, make_bridge, start_on_host
def show(name):
    return subprocess.run(["ip", "-o", "link", "show", name], capture_output=True, text=True).stdout.split()
make_bridge()
hosts = [start_on_host(number, ["sleep", "60"]) for number in (0, 1)]
print(*show("bridge0")[-3:])
ip("link", "set", "port0", "address", "02:00:00:00:00:00")
print(*show("bridge0")[-3:])
hosts[0].kill()
while show("port0"):
    pass
print(*show("bridge0")[-3:])
hosts[1].kill()
"""


def test_hosts_have_their_own_clocks_and_reach_this_machine(request: pytest.FixtureRequest) -> None:
    if not possible():
        skip_loudly(request, "hosts of their own: network and time namespaces need root (unshare, ip, nsenter)")
    command = ["unshare", "--net", sys.executable, "-c", SCRIPT]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.split()
    first, second, here = (float(word) for word in said)
    assert abs(first - here - EPOCHS_S[0]) < 60
    assert abs(second - here - EPOCHS_S[1]) < 60


def test_hosts_keep_their_connections_when_another_host_ends(request: pytest.FixtureRequest) -> None:
    """A new address of the bridge would make this machine unreachable for seconds."""
    if not possible():
        skip_loudly(request, "hosts of their own: network and time namespaces need root (unshare, ip, nsenter)")
    command = ["unshare", "--net", sys.executable, "-c", ADDRESSES]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    assert len(said) == 3
    assert len(set(said)) == 1
