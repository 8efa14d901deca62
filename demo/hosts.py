# SPDX-License-Identifier: Apache-2.0
"""Hosts on one machine, each with its own network and its own monotonic clock.

A host is a process in a network namespace and a time namespace of Linux. All hosts are on a bridge, with this machine
at ADDRESS. The functions need root. They change only the network namespace of the process that calls them.
"""

import subprocess
from collections.abc import Sequence

ADDRESS = "10.77.0.1"
MAC = "02:00:00:00:00:01"
EPOCHS_S = (10_000, 2_000_000, 30_000_000)  # seconds that the clock of each host is ahead of this process
PATIENCE_S = 90


def possible() -> bool:
    """Return whether this account may create network and time namespaces."""
    probe = "ip link set lo up && ip link add qt0 type bridge && ip link add qt1 type veth peer name qt2"
    command = ["unshare", "--net", "--time", "--monotonic", "1000", "sh", "-c", probe]
    try:
        return subprocess.run(command, capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def ip(*words: str, inside: str | None = None) -> None:
    """Run an `ip` command to set up a network. `inside`: the process whose namespace is changed."""
    enter = ["nsenter", f"--net=/proc/{inside}/ns/net"] if inside else []
    subprocess.run([*enter, "ip", *words], check=True, timeout=PATIENCE_S)


def make_bridge() -> None:
    """Create the bridge. The process must have its own network namespace (`unshare --net`).

    The bridge has its own MAC address. Without one it takes the lowest address of its links, and the address changes
    when the host of this link ends. The other hosts then lose their connections for seconds.
    """
    ip("link", "set", "lo", "up")
    ip("link", "add", "bridge0", "address", MAC, "type", "bridge")
    ip("addr", "add", f"{ADDRESS}/24", "dev", "bridge0")
    ip("link", "set", "bridge0", "up")


def start_on_host(number: int, command: Sequence[object]) -> "subprocess.Popen[str]":
    """Run a command on its own host with the address 10.77.0.(10 + number). The link on this side is `port<number>`."""
    shell = 'echo $$; read go; exec "$@"'
    namespaces = ["unshare", "--net", "--time", "--monotonic", str(EPOCHS_S[number])]
    process = subprocess.Popen(
        [*namespaces, "sh", "-c", shell, "sh", *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    pid = process.stdout.readline().strip()
    ip("link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", pid)
    ip("addr", "add", f"10.77.0.{10 + number}/24", "dev", "eth0", inside=pid)
    ip("link", "set", "lo", "up", inside=pid)
    ip("link", "set", "eth0", "up", inside=pid)
    ip("link", "set", f"port{number}", "master", "bridge0", "up")
    process.stdin.write("go\n")
    process.stdin.flush()
    return process
