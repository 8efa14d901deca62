# SPDX-License-Identifier: Apache-2.0
"""querytape: record MySQL traffic, replay it against other servers, compare what came back.

The functions of the library and their types; docs/library.md shows each. They are loaded when they are first used.
`capture` and `replay` are also packages: as attributes they are the packages, which can be called.
"""

from typing import TYPE_CHECKING

from .common.errors import FolderError, InputError, QuerytapeError, RefusedError, TargetError
from .common.lazy import lazy_attributes
from .common.version import __version__

if TYPE_CHECKING:
    from .analyze.library import ReportResult as ReportResult
    from .analyze.library import report as report
    from .analyze.model import Settings as ReportOptions
    from .analyze.verdicts.verdict import Margin as Margin
    from .capture.library import capture as capture
    from .capture.source import Settings as CaptureOptions
    from .experiments.library import CompareOptions as CompareOptions
    from .experiments.library import CompareResult as CompareResult
    from .experiments.library import compare as compare
    from .replay.options import ReplayOptions as ReplayOptions
    from .replay.pipeline import replay as replay
    from .replay.plan.amplify import Amplification as Amplification
    from .replay.plan.overrides import Overrides as Overrides
    from .replay.plan.pacing import Pace as Pace
    from .replay.plan.selection import Selection as Selection
    from .replay.summary import RunSummary as RunSummary
    from .replay.watcher import Watcher as Watcher
    from .schemas.opened import Run as Run
    from .schemas.opened import Tape as Tape
    from .schemas.opened import open_run as open_run
    from .schemas.opened import open_tape as open_tape
    from .servers.target import Target as Target
    from .servers.target import parse_target as parse_target
else:
    __getattr__ = lazy_attributes(
        __name__,
        {
            "Amplification": ".replay.plan.amplify:Amplification",
            "CaptureOptions": ".capture.source:Settings",
            "CompareOptions": ".experiments.library:CompareOptions",
            "CompareResult": ".experiments.library:CompareResult",
            "Margin": ".analyze.verdicts.verdict:Margin",
            "Overrides": ".replay.plan.overrides:Overrides",
            "Pace": ".replay.plan.pacing:Pace",
            "ReplayOptions": ".replay.options:ReplayOptions",
            "ReportOptions": ".analyze.model:Settings",
            "ReportResult": ".analyze.library:ReportResult",
            "Run": ".schemas.opened:Run",
            "RunSummary": ".replay.summary:RunSummary",
            "Selection": ".replay.plan.selection:Selection",
            "Tape": ".schemas.opened:Tape",
            "Target": ".servers.target:Target",
            "Watcher": ".replay.watcher:Watcher",
            "capture": ".capture",
            "compare": ".experiments.library:compare",
            "open_run": ".schemas.opened:open_run",
            "open_tape": ".schemas.opened:open_tape",
            "parse_target": ".servers.target:parse_target",
            "replay": ".replay",
            "report": ".analyze.library:report",
        },
    )

__all__ = [
    "Amplification",
    "CaptureOptions",
    "CompareOptions",
    "CompareResult",
    "FolderError",
    "InputError",
    "Margin",
    "Overrides",
    "Pace",
    "QuerytapeError",
    "RefusedError",
    "ReplayOptions",
    "ReportOptions",
    "ReportResult",
    "Run",
    "RunSummary",
    "Selection",
    "Tape",
    "Target",
    "TargetError",
    "Watcher",
    "__version__",
    "capture",
    "compare",
    "open_run",
    "open_tape",
    "parse_target",
    "replay",
    "report",
]
