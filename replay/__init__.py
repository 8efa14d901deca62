# SPDX-License-Identifier: Apache-2.0
"""Replays a tape against a target: tape -> plan -> native engine -> run.

Imports go one way: plan, storage <- options <- checks, observe, run_folder, engine_options, watcher <- run <- summary
<- pipeline, calibrate <- drivers.
"""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_attributes, make_callable

if TYPE_CHECKING:
    from ..servers.target import Target, parse_target
    from .checks.preflight import Finding
    from .observe.live import LiveRun
    from .observe.ticks import Tick
    from .options import ReplayOptions
    from .pipeline import replay
    from .plan.pacing import parse_speed, speed_text
    from .plan.rules import Plan
    from .summary import RunSummary
    from .watcher import Watcher
else:
    __getattr__ = lazy_attributes(
        __name__,
        {
            "Finding": ".checks.preflight:Finding",
            "LiveRun": ".observe.live:LiveRun",
            "Plan": ".plan.rules:Plan",
            "ReplayOptions": ".options:ReplayOptions",
            "RunSummary": ".summary:RunSummary",
            "Target": "..servers.target:Target",
            "Tick": ".observe.ticks:Tick",
            "Watcher": ".watcher:Watcher",
            "parse_speed": ".plan.pacing:parse_speed",
            "parse_target": "..servers.target:parse_target",
            "replay": ".pipeline:replay",
            "speed_text": ".plan.pacing:speed_text",
        },
    )

__all__ = [
    "Finding",
    "LiveRun",
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
make_callable(__name__)
