# SPDX-License-Identifier: Apache-2.0
"""Start one driver on each node of a Ray cluster. Ray only chooses the nodes and starts the program there.

The arguments of a Ray task can be read by everyone who reaches the cluster. They contain no key and no statement: each
node has the join key in a file or in its environment. A task is never repeated, because its statements would be sent
twice.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...cluster.connection import INSECURE, authenticates, connect, load_ray
from ...common.errors import QuerytapeError
from ...common.units import plural
from .launch import DriverCommand, why_ended

PLACED_S, LEAVE_S = 60.0, 10.0
OPTION = "--drivers ray"


@dataclass(frozen=True)
class RayNodes:
    """The cluster. `address`: its head, or "auto" for RAY_ADDRESS or the cluster of this machine.

    `insecure`: also use a cluster without authentication.
    """

    address: str
    command: DriverCommand
    insecure: bool = False
    carries_key = False

    @property
    def where(self) -> str:
        """The cluster in messages."""
        return f"the Ray cluster at {self.address}" if self.address != "auto" else "the Ray cluster of this machine"

    def count(self, tapes: int) -> int:
        """Connect to the cluster. Return the number of drivers: one for each node, but at most one for each tape.

        Raises InputError if Ray is not installed or the cluster refuses the connection.
        """
        ray = connect(self.address, self.insecure, OPTION)
        return max(min(sum(bool(node["Alive"]) for node in ray.nodes()), tapes), 1)

    @contextmanager
    def started(self, join: str, key: bytes, run: str, count: int) -> Iterator["StartedByRay"]:
        """Start the drivers; see `Launcher`. Raises QuerytapeError if the cluster has too few free nodes."""
        ray = load_ray(OPTION)
        from ray.util.placement_group import placement_group, remove_placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        join = f"{ray.util.get_node_ip_address()}{join}" if join.startswith(":") else join
        group = placement_group([{"CPU": 1}] * count, strategy="STRICT_SPREAD")

        def start(number: int, bundle: int) -> Any:
            """Start a driver and return its task."""
            place = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
            task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy=place)(run_driver)
            words = self.command.shell(number, join, run)
            return task.remote(words, self.insecure)

        drivers = StartedByRay(ray, self.where, start, lambda number: f"{self.command.part(number, run)}.run")
        try:
            if not group.wait(PLACED_S):
                raise QuerytapeError(f"{OPTION}: no {count:,} nodes with a free CPU within {PLACED_S:g} s")
            for bundle in range(count):
                drivers.start(bundle + 1, bundle)
            yield drivers
        finally:
            refs = [ref for ref, _ in drivers.tasks.values()]
            with suppress(Exception):
                ray.wait(refs, num_returns=len(refs), timeout=LEAVE_S)
            with suppress(Exception):
                remove_placement_group(group)
            ray.shutdown()


class StartedByRay:
    """The tasks; see `Started`. `tasks`: the task and the bundle of each driver, by the name of its part."""

    def __init__(self, ray: Any, where: str, start: Callable[[int, int], Any], part: Callable[[int], str]) -> None:
        """`start`: starts a driver in a bundle and returns its task. `part`: returns the name of a driver's part."""
        self._ray, self._where, self._start, self.part = ray, where, start, part
        self.tasks: dict[str, tuple[Any, int]] = {}

    def start(self, number: int, bundle: int) -> None:
        """Start driver `number` in a bundle of the placement group."""
        self.tasks[self.part(number)] = self._start(number, bundle), bundle

    def start_again(self, part: str, number: int) -> None:
        """Start a driver in the bundle of a lost driver. If the node is lost, Ray moves the bundle to a free node."""
        self.start(number, self.tasks[part][1])

    def problem(self, joined: Collection[str], part: str | None = None) -> str | None:
        """Return why a driver that has not joined will not join."""
        tasks = tuple(self.tasks.items())
        open_refs = [ref for own, (ref, _) in tasks if own not in joined and part in (None, own)]
        ended, _ = self._ray.wait(open_refs, num_returns=len(open_refs), timeout=0) if open_refs else ((), ())
        for ref in ended:
            try:
                return why_ended(*self._ray.get(ref))
            except Exception as error:
                return f"the driver task failed: {str(error).strip().splitlines()[-1]}"
        return None

    def waiting(self, joined: Collection[str]) -> str:
        """Return where the drivers are that have not joined."""
        return f"{plural(sum(part not in joined for part in self.tasks), 'driver')} on {self._where}"


def run_driver(words: Sequence[str], insecure: bool) -> tuple[str, int, str]:
    """Run a driver on this node. Return the host, the exit code and the end of the output.

    Ray ends the children of a task that ends early. The driver is a grandchild in its own session, so that it finishes
    its part if the lead process is lost.
    """
    host = socket.gethostname()
    if not insecure and not authenticates():
        return host, 1, INSECURE.format(where="this node")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        ["sh", "-c", '("$@") & wait $!', "sh", *words],
        cwd=Path.home(),
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        check=False,
    )
    return host, done.returncode, done.stderr.decode(errors="replace")
