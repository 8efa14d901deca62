# SPDX-License-Identifier: Apache-2.0
"""Changes the speed of a replay while it runs, or stops it: by files in its folder that it reads once a second."""

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
MOST = 2  # the first lets answers come, the second cuts the connections


def parse_request(text: str) -> Fraction:
    """Return a factor, 0 for a pause. Raises OptionError."""
    return STANDING if text.strip().lower() == PAUSE else parse_speed(text)


def request_text(speed: Fraction) -> str:
    """Return a factor as the file has it."""
    return PAUSE if speed == STANDING else speed_text(speed)


def request_speed(run: Path, text: str) -> None:
    """Ask the replay that writes `run` for another speed, or to pause.

    Raises InputError where it is over, or nothing is due.
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
    """Return what was asked for last, 0 for a pause; None where nothing was."""
    try:
        return parse_request((run / SPEED_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError, InputError):
        return None


class SpeedFile:
    """The replay's side: reads requests, applies them, and keeps the list of changes."""

    def __init__(self, run: Path, pace: Pace) -> None:
        self._run = run
        self._planned = pace.speed
        self._now: Fraction = pace.speed
        self.changes: list[dict[str, Any]] = []

    def apply(self, engine: Engine, at_ns: int) -> None:
        """Change the engine's speed where another one is requested; `at_ns`: now, from the run's zero."""
        requested = requested_speed(self._run)
        if requested is None or requested == self._now:
            return
        engine.set_speed(float(requested / self._planned))
        self._now = requested
        self.changes.append({"at_ns": at_ns, "speed": speed_text(requested)})  # 0: paused

    def clean(self) -> None:
        """Remove the request."""
        (self._run / SPEED_FILE).unlink(missing_ok=True)


def request_stop(run: Path) -> int:
    """Ask the replay that writes `run` to stop; return how often that was asked now: the second cuts connections.

    Raises InputError where it is over.
    """
    info = _read_info(run)
    if info.get("finished") or not is_held(run):
        raise InputError(f"{run}: the replay has ended")
    times = min(stops_asked(run) + 1, MOST)
    with publish(run / STOP_FILE) as temporary:
        temporary.write_text(f"{times}\n", encoding="ascii")
    return times


def stops_asked(run: Path) -> int:
    """Return how often a stop was asked for."""
    try:
        text = (run / STOP_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return 0
    return min(int(text), MOST) if text.isdecimal() else 0


def forget_stop(run: Path) -> None:
    """Remove the request."""
    (run / STOP_FILE).unlink(missing_ok=True)


def _read_info(run: Path) -> dict[str, Any]:
    """Return run.json. Raises InputError if there is none."""
    try:
        return read_json("run", run / "run.json")
    except FolderError as error:
        raise InputError(f"{run}: not a run: {error}") from error
