# SPDX-License-Identifier: Apache-2.0
"""Changing a replay while it runs: a file in its run folder, which the replay looks at once a second."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..native.engine import Engine
from ..schemas import publish
from .pacing import Pace, parse_speed, speed_text

FILE = "speed"


def ask_speed(run: Path, text: str) -> None:
    """Ask the replay that writes `run` for another speed. Raises InputError where it is over, or nothing is due."""
    speed = parse_speed(text)
    if speed is None:
        raise InputError("speed: expected a factor; a replay that is under way can't give up its times")
    try:
        info = json.loads((run / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise InputError(f"{run}: not a run: {fault}") from fault
    if info.get("finished"):
        raise InputError(f"{run}: the replay has ended")
    if info["parameters"]["pace"] == "none":
        raise InputError(f"{run}: nothing is due at --pace none")
    with publish(run / FILE) as temporary:
        temporary.write_text(speed_text(speed) + "\n", encoding="ascii")


class SpeedFile:
    """The replay's side: looks for what was asked, and keeps what was done."""

    def __init__(self, run: Path, pace: Pace) -> None:
        self._file = run / FILE
        self._planned = pace.speed
        self._now: Fraction = pace.speed
        self.changes: list[dict[str, Any]] = []

    def look(self, engine: Engine, at_ns: int) -> None:
        """Change the tempo where another speed is asked for."""
        try:
            wanted = parse_speed(self._file.read_text(encoding="ascii"))
        except (OSError, ValueError, InputError):
            return
        if wanted is None or wanted == self._now:
            return
        engine.tempo(float(wanted / self._planned))
        self._now = wanted
        self.changes.append({"at_ns": at_ns, "speed": speed_text(wanted)})

    def clean(self) -> None:
        """Remove what was asked."""
        self._file.unlink(missing_ok=True)
