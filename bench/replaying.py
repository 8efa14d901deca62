# SPDX-License-Identifier: Apache-2.0
"""Captures a log, replays the tape and reads run.json, for the benches that replay."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from ..servers.sandbox import Server
from .pairs import Figures, run_program


def capture(log: Path, tape: Path) -> None:
    """Capture a log into a tape."""
    shutil.rmtree(tape, ignore_errors=True)
    run_program(sys.executable, "-m", "querytape", "capture", "slowlog", str(log), "-o", str(tape))


def replay(tape: Path, server: Server, db: str, run: Path, *options: str) -> dict[str, Any]:
    """Replay a tape and return its run.json. Raises RuntimeError unless every event was executed."""
    return replay_url(tape, server.url(db), run, *options)


def replay_url(tape: Path, url: str, run: Path, *options: str) -> dict[str, Any]:
    """Replay a tape against any target URL. The other arguments and the result are those of `replay`."""
    shutil.rmtree(run, ignore_errors=True)
    run_program(
        *(sys.executable, "-m", "querytape", "replay", str(tape), "--target", url, "-o", str(run)),
        *options,
    )
    info: dict[str, Any] = json.loads((run / "run.json").read_text(encoding="utf-8"))
    counts = info["accounting"]
    if counts["executed"] + counts["filtered"] + counts["skipped"] != counts["tape_events"]:
        raise RuntimeError(f"the replay did not send everything: {counts}")
    return info


def lateness(late: dict[str, Any]) -> Figures:
    """Return the lateness of querytape and of threads that only sleep, in us, and their ratios.

    Reads `lateness` of a run.json.
    """
    quantiles = {"p50": "p50", "p99": "p99", "p99.9": "p999"}
    figures = {f"late {name} us": late[f"tool_{key}_ns"] / 1e3 for name, key in quantiles.items()}
    figures |= {f"timer_probe {name} us": late[f"probe_{key}_ns"] / 1e3 for name, key in quantiles.items()}
    return figures | {
        f"late {name} / timer_probe {name}": late[f"tool_{key}_ns"] / late[f"probe_{key}_ns"]
        for name, key in quantiles.items()
    }
