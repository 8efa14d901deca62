# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster on this machine.

`python -m tests.helpers.ray_cluster NODES` starts the cluster and prints its address. The end of its input ends it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

STORE_BYTES = 80 << 20
PATIENCE_S = 60


@contextmanager
def ray_cluster(nodes: int, environment: Mapping[str, str]) -> Iterator[str]:
    """Start a cluster whose programs have these variables. Yield its address."""
    command = [sys.executable, "-m", "tests.helpers.ray_cluster", str(nodes)]
    folder = tempfile.mkdtemp(prefix="qt-ray-")  # the names of sockets may have 107 characters
    kept = {**environment, "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": folder}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kept)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("address "):
                yield line.split()[1]
                break
        else:
            raise AssertionError(f"the cluster did not start: exit code {process.wait(PATIENCE_S)}")
    finally:
        process.stdin.close()
        process.wait(PATIENCE_S)
        shutil.rmtree(folder, ignore_errors=True)


def main(nodes: int) -> None:
    """Start the nodes, print the address, and wait for the end of the input."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": STORE_BYTES, "include_dashboard": False},
    )
    for _ in range(nodes - 1):
        cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
    cluster.wait_for_nodes()
    print("address", cluster.address, flush=True)
    sys.stdin.read()
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    main(int(sys.argv[1]))
