# SPDX-License-Identifier: Apache-2.0
"""Stops a replay while it runs, as Ctrl-C does: through a file in its folder, which the replay reads once a second."""

from pathlib import Path

from ...common.errors import FolderError, InputError
from ...common.files import is_held, publish
from ...schemas import read_json

REQUEST_FILE = "stop"
MOST = 2  # the first lets answers come, the second cuts the connections


def request_stop(run: Path) -> int:
    """Ask the replay that writes `run` to stop; return how often that was asked now: the second cuts connections.

    Raises InputError where it is over.
    """
    try:
        info = read_json("run", run / "run.json")
    except FolderError as error:
        raise InputError(f"{run}: not a run: {error}") from error
    if info.get("finished") or not is_held(run):
        raise InputError(f"{run}: the replay has ended")
    times = min(stops_asked(run) + 1, MOST)
    with publish(run / REQUEST_FILE) as temporary:
        temporary.write_text(f"{times}\n", encoding="ascii")
    return times


def stops_asked(run: Path) -> int:
    """Return how often a stop was asked for."""
    try:
        text = (run / REQUEST_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return 0
    return min(int(text), MOST) if text.isdecimal() else 0


def forget_stop(run: Path) -> None:
    """Remove the request."""
    (run / REQUEST_FILE).unlink(missing_ok=True)
