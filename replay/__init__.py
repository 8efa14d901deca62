# SPDX-License-Identifier: Apache-2.0
"""Replays a tape against a target: tape -> plan -> native engine -> run."""

from ..servers.target import Target, parse_target
from .options import ReplayOptions, RunSummary
from .pacing import parse_speed, speed_text
from .preflight import Finding
from .rules import Plan
from .runner import Watcher, replay
from .ticks import Tick

__all__ = [
    "Finding",
    "Plan",
    "ReplayOptions",
    "RunSummary",
    "Target",
    "Tick",
    "Watcher",
    "parse_speed",
    "parse_target",
    "replay",
    "speed_text",
]
