# SPDX-License-Identifier: Apache-2.0
"""Replay a tape against a target: tape -> plan -> native engine -> run.

Imports go one way: run_folder, plan <- options <- checks, observe, engine_options <- watcher, follow <- task <- run <-
summary <- replay_tape, calibrate <- drivers.
"""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_names, make_callable

if TYPE_CHECKING:
    from ..servers.target import Target as Target
    from ..servers.target import parse_target as parse_target
    from .checks.preflight import Finding as Finding
    from .observe.live import LiveRun as LiveRun
    from .observe.ticks import Tick as Tick
    from .options import ReplayOptions as ReplayOptions
    from .plan.pacing import parse_speed as parse_speed
    from .plan.pacing import speed_text as speed_text
    from .plan.rules import Plan as Plan
    from .replay_tape import replay as replay
    from .summary import RunSummary as RunSummary
    from .watcher import Watcher as Watcher
else:
    __getattr__, __all__ = lazy_names(__name__)
make_callable(__name__)
