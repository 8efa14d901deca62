# SPDX-License-Identifier: Apache-2.0
"""Finds the target's own process, so that what other programs take is not taken for the target's, nor the reverse.

On this machine the kernel says who listens at the server's socket. What a server says of itself is checked: the host's
name and the port. A server in a container has neither: its process is not known.
"""

import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from ...servers.facts import Facts
from ...servers.target import Target

MAX_PATH = 107  # of a Unix socket


def local_process(target: Target, facts: Facts) -> int | None:
    """Return the process id of a server on this machine, None where it can't be told for certain."""
    if target.socket is not None:
        return listener(target.socket)
    if facts.hostname != socket.gethostname() or facts.variables.get("port") != str(target.port):
        return None
    return listener(facts.variables.get("socket", ""))


def listener(path: str) -> int | None:
    """Return the process that listens at a Unix socket, None where there is none in sight."""
    if not path.startswith("/") or len(path.encode()) > MAX_PATH:
        return None
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
            pid = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except (OSError, ValueError):
            return None
    return pid or None  # 0: of another namespace


def pid_file(variables: Mapping[str, str]) -> str:
    """Return the path of a server's pid file on its machine, "" where it does not say."""
    path = variables.get("pid_file", "")
    if not path:
        return ""
    return str(Path(variables.get("datadir", "/")) / path)
