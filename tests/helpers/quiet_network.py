# SPDX-License-Identifier: Apache-2.0
"""Count the packets that a command on a Ray cluster sends to other hosts.

`python -m tests.helpers.quiet_network COMMAND...` must run in its own network and mount namespaces. The only way to
other hosts, and to the name server, is an interface that nobody reads. CLUSTER in the command becomes the address of a
cluster. The last line has the number of packets before a control packet, and after it.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from .ray_cluster import ray_cluster

NAME_SERVER, GATEWAY, OWN = "203.0.113.53", "192.0.2.1", "192.0.2.9/24"
OUT = "out0"
QUIET_S, LONGEST_S = 10.0, 60.0  # longer than the time between two requests of Ray


def close_network(folder: Path) -> None:
    """Route everything that leaves this machine to an interface that nobody reads."""
    (folder / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\noptions timeout:1 attempts:1\n", encoding="utf-8")
    for words in (
        ("mount", "--bind", str(folder / "resolv.conf"), "/etc/resolv.conf"),
        ("ip", "link", "set", "lo", "up"),
        ("ip", "link", "add", OUT, "type", "veth", "peer", "name", "unread0"),
        ("sysctl", "-qw", f"net.ipv6.conf.{OUT}.disable_ipv6=1", "net.ipv6.conf.unread0.disable_ipv6=1"),
        ("ip", "addr", "add", OWN, "dev", OUT),
        ("ip", "link", "set", "unread0", "up"),
        ("ip", "link", "set", OUT, "up"),
        ("ip", "neigh", "add", GATEWAY, "lladdr", "02:00:00:00:00:01", "dev", OUT, "nud", "permanent"),
        ("ip", "route", "add", "default", "via", GATEWAY, "dev", OUT),
    ):
        subprocess.run(words, check=True)


def sent() -> int:
    """Return the number of packets that have left through the interface."""
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == OUT:
            return int(counters.split()[9])
    raise AssertionError(f"no {OUT}")


def sent_at_start() -> int:
    """Return the number of packets after no packet was sent for some time.

    Ray itself looks for the services of a cloud when a node starts, and repeats its requests.
    """
    count, since, until = sent(), time.monotonic(), time.monotonic() + LONGEST_S
    while time.monotonic() < min(since + QUIET_S, until):
        time.sleep(0.2)
        if sent() != count:
            count, since = sent(), time.monotonic()
    return count


def main(folder: Path, *command: str) -> int:
    """Run the command and print the packets. Returns its exit code."""
    close_network(folder)
    with ray_cluster(2, os.environ) as address:
        before = sent_at_start()
        words = [word.replace("CLUSTER", address) for word in command]
        done = subprocess.run([sys.executable, "-m", "querytape", *words], check=False, stdout=subprocess.DEVNULL)
        during = sent() - before
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            control.sendto(b"x", ("198.51.100.1", 9))
        print(during, sent() - before, flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
