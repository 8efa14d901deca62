# SPDX-License-Identifier: Apache-2.0
"""Run steps as tasks of a Ray cluster. A step reads and writes files that all nodes see, and its result is a path.

Everyone who reaches a cluster can read the arguments of its tasks. A step therefore contains only paths and numbers. A
step may be repeated, so Ray repeats the steps of a worker that was lost.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.errors import InputError, QuerytapeError
from ..common.version import __version__
from .connection import INSECURE, authenticates, connect

Step = Callable[[], Path]
RETRIES = 3


@dataclass(frozen=True)
class RayTasks:
    """An open connection to a cluster. `memory`: bytes that a step needs. `cpus`: of the whole cluster."""

    ray: Any
    cpus: int
    memory: int
    insecure: bool

    def __call__(self, steps: Sequence[Step]) -> list[Path]:
        """Run the steps and return their results in order. Raises QuerytapeError if a step fails."""
        task = self.ray.remote(num_cpus=1, memory=self.memory, max_retries=RETRIES)(run_step_there)
        refs = [task.remote(step, __version__, self.insecure) for step in steps]
        found = []
        for ref in refs:
            try:
                path, problem = self.ray.get(ref)
            except Exception as error:  # Ray has no common class for its errors
                raise QuerytapeError(f"a task of the cluster failed: {_last_line(error)}") from error
            if problem:
                raise InputError(problem)
            found.append(Path(path))
        return found


@contextmanager
def ray_tasks(address: str, memory: int, insecure: bool, option: str) -> Iterator[RayTasks]:
    """Yield the connection to a cluster, and end it. See `connect` for the arguments and errors.

    Ray prints messages about lost workers on the standard output, where the report may be. They go to stderr instead.
    """
    with redirect_stdout(sys.stderr):
        ray = connect(address, insecure, option)
        try:
            yield RayTasks(ray, max(1, int(ray.cluster_resources().get("CPU", 1))), memory, insecure)
        finally:
            with suppress(Exception):
                ray.shutdown()


def run_step_there(step: Step, version: str, insecure: bool) -> tuple[str, str]:
    """Run a step on a node. Return its result, and an empty text or the reason why it cannot run on this node."""
    host = socket.gethostname()
    if not insecure and not authenticates():
        return "", f"node {host}: {INSECURE.format(where='this node')}"
    if version != __version__:
        return "", f"node {host} has querytape {__version__}, but this command is querytape {version}"
    os.umask(0o077)
    try:
        return str(step()), ""
    except QuerytapeError as error:
        return "", f"node {host}: {error}"


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
