# SPDX-License-Identifier: Apache-2.0
"""Change the speed of a running replay, or stop the replay.

The replay reads request files in its folder once a second.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

from ...common.errors import FolderError, InputError
from ...common.files import is_held, publish
from ...native.bindings.engine import Engine
from ...schemas import check_shape, read_json
from ..plan.pacing import Pace, parse_speed, speed_text

SPEED_FILE = "speed"
PAUSE = "pause"
STANDING = Fraction(0)
STOP_FILE = "stop"
MOST = 2  # the first stop waits for answers, the second cuts connections


def parse_request(text: str) -> Fraction:
    """Return the speed factor of a request, or 0 for a pause. Raises OptionError."""
    return STANDING if text.strip().lower() == PAUSE else parse_speed(text)


def request_text(speed: Fraction) -> str:
    """Return a speed factor as the text of a request file."""
    return PAUSE if speed == STANDING else speed_text(speed)


def request_speed(run: Path, text: str) -> None:
    """Request another speed, or a pause, from the replay that writes `run`.

    Raises InputError if the replay has ended or has no schedule.
    """
    speed = parse_request(text)
    info = _read_info(run)
    if info.get("finished"):
        raise InputError(f"{run}: the replay has ended")
    if "driver_run" in info:
        raise InputError(f"{run}: cannot change the speed of a replay by several drivers")
    check_shape("run", run / "run.json", info)
    if (info.get("parameters") or {}).get("pace") == "none":
        raise InputError(f"{run}: cannot change the speed of a replay with --pace none")
    with publish(run / SPEED_FILE) as temporary:
        temporary.write_text(request_text(speed) + "\n", encoding="ascii")


def requested_speed(run: Path) -> Fraction | None:
    """Return the requested speed, or 0 for a pause. Return None if there is no request."""
    try:
        return parse_request((run / SPEED_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError, InputError):
        return None


class SpeedFile:
    """The replay's side: reads requests, applies them, and records the changes."""

    def __init__(self, run: Path, pace: Pace) -> None:
        self._run = run
        self._planned = pace.speed
        self._now: Fraction = pace.speed
        self.changes: list[dict[str, Any]] = []

    def apply(self, engine: Engine, at_ns: int) -> None:
        """Change the engine's speed if a new speed is requested. `at_ns` is the time since the start of the run."""
        requested = requested_speed(self._run)
        if requested is None or requested == self._now:
            return
        engine.set_speed(float(requested / self._planned))
        self._now = requested
        self.changes.append({"at_ns": at_ns, "speed": speed_text(requested)})  # a speed of 0 means paused

    def clean(self) -> None:
        """Remove the request file."""
        (self._run / SPEED_FILE).unlink(missing_ok=True)


def request_stop(run: Path) -> int:
    """Request a stop of the replay that writes `run`. Return the number of stop requests so far.

    The second request cuts the connections. Raises InputError if the replay has ended.
    """
    info = _read_info(run)
    if info.get("finished") or not is_held(run):
        raise InputError(f"{run}: the replay has ended")
    times = min(stops_asked(run) + 1, MOST)
    with publish(run / STOP_FILE) as temporary:
        temporary.write_text(f"{times}\n", encoding="ascii")
    return times


def stops_asked(run: Path) -> int:
    """Return how many times a stop was requested."""
    try:
        text = (run / STOP_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return 0
    return min(int(text), MOST) if text.isdecimal() else 0


def forget_stop(run: Path) -> None:
    """Remove the stop request."""
    (run / STOP_FILE).unlink(missing_ok=True)


def _read_info(run: Path) -> dict[str, Any]:
    """Return the content of run.json. Raises InputError if the file is missing."""
    try:
        return read_json("run", run / "run.json")
    except FolderError as error:
        raise InputError(f"{run}: not a run: {error}") from error
