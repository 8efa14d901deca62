# SPDX-License-Identifier: Apache-2.0
"""Declares `--live/--no-live`, and makes the display of a run: the view on a terminal, else lines."""

import os
import sys
from collections.abc import Callable
from typing import Any

from ..replay import LiveRun, Watcher
from .live_lines import LiveLines
from .option_sections import OptionSpec, option

LIVE: OptionSpec = option(
    "--live/--no-live",
    default=True,
    show_default=True,
    help="Show a live view of the run on a terminal. With --no-live or without a terminal, print one line per second.",
)


def may_draw(wanted: bool) -> bool:
    """Return whether a view is requested and stderr is a terminal that can show the view."""
    if not wanted or not sys.stderr.isatty() or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    from .live_view import has_room

    return has_room()


def run_watcher(wanted: bool, running: Callable[[LiveRun], None] | None = None, **view: Any) -> LiveLines:
    """Return the display of a run. `view`: further arguments of LiveView."""
    if not may_draw(wanted):
        return LiveLines(running)
    from .live_view import LiveView

    return LiveView(running, **view)


def level_watcher(wanted: bool, levels: tuple[int, ...], otherwise: Watcher) -> Watcher:
    """Return the display of a sweep's levels, one after another. Returns `otherwise` if the view cannot be shown."""
    if not may_draw(wanted):
        return otherwise
    from .live_view import LiveView

    places = {f"{sessions}.run": place for place, sessions in enumerate(levels, 1)}

    def heading(name: str) -> str:
        sessions = name.removesuffix(".run")
        return f"level {places[name]} of {len(levels)}: {sessions} concurrent session{'s' * (sessions != '1')}"

    return LiveView(otherwise.running, heading=heading, only_view=True)
