# SPDX-License-Identifier: Apache-2.0
"""Connect to a Ray cluster. A cluster without authentication is refused, and Ray must not report its usage."""

import os
import socket
from typing import Any

from ..common.errors import InputError

CONNECT_S = 10.0
INSECURE = (
    "{where} runs without RAY_AUTH_MODE=token, so anyone who reaches the cluster can run programs in it. Set this"
    " variable for all nodes and for this command, or use --insecure-cluster"
)


def authenticates() -> bool:
    """Return whether Ray in this process requires a token."""
    return os.environ.get("RAY_AUTH_MODE", "").lower() == "token"


def connect(address: str, insecure: bool, option: str) -> Any:
    """Connect to the cluster and return the module ray.

    `address`: the head of the cluster, or "auto" for RAY_ADDRESS or the cluster of this machine. `insecure`: also use a
    cluster without authentication. `option`: the option that named the cluster, for messages.

    Raises InputError if Ray is not installed or the cluster refuses the connection.
    """
    if not insecure and not authenticates():
        raise InputError(f"{option}: {INSECURE.format(where='this command')}")
    ray = load_ray(option)
    refuse_closed(address, option)
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except Exception as error:  # Ray has no common class for its errors
        raise InputError(f"{option}:{address}: cannot connect to the cluster: {error}") from error
    return ray


def refuse_closed(address: str, option: str) -> None:
    """Raise InputError if nothing listens at `HOST:PORT`, because Ray itself tries for a long time."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except OSError as error:
        raise InputError(f"{option}:{address}: cannot connect to the cluster: {error}") from error


def load_ray(option: str) -> Any:
    """Return the module ray. It must not report its usage, so the variable is set before it is imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise InputError(f"{option} requires the package ray: pip install 'querytape[cluster]'") from None
    return ray
