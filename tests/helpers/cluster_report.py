# SPDX-License-Identifier: Apache-2.0
"""A report whose steps run as tasks of a Ray cluster. Each step kills its worker at the first attempt.

`python -m tests.helpers.cluster_report ADDRESS FOLDER SHARES TAPE A B` prints the report as JSON.
"""

import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from querytape.analyze import Settings, as_json, build
from querytape.analyze.model import Step, Work
from querytape.cluster.tasks import RayTasks, ray_tasks


def killed_once(step: Step, mark: Path) -> Path:
    """Kill this process at the first call. Run the step at the second call."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return step()


def kill_each_once(tasks: RayTasks, folder: Path, steps: Sequence[Step]) -> list[Path]:
    """Run the steps on the cluster. Each worker is killed once."""
    first = len(list(folder.iterdir()))
    return tasks([partial(killed_once, step, folder / f"{first}-{n}") for n, step in enumerate(steps)])


def main(address: str, folder: Path, shares: int, tape: Path, a: Path, b: Path) -> None:
    """Print the report."""
    marks, work = folder / "marks", folder / "work"
    marks.mkdir()
    work.mkdir()
    with ray_tasks(address, 400 << 20, insecure=False, option="--cluster ray") as tasks:
        run = partial(kill_each_once, tasks, marks)
        settings = Settings(keep_summary=False, work=Work(work, shares, run, threads=1))
        report = as_json(build(tape, [a], [b], settings))
    print(report)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), *map(Path, sys.argv[4:]))
