# SPDX-License-Identifier: Apache-2.0
"""querytape: record MySQL traffic, replay it against other servers, and compare the results.

This package exports the functions and types of the library. docs/library.md has an example of each. A name is imported
when it is first used. `capture` and `replay` are also packages: the attributes are these packages, and they are
callable.
"""

from typing import TYPE_CHECKING

from .common.errors import FolderError as FolderError
from .common.errors import InputError as InputError
from .common.errors import QuerytapeError as QuerytapeError
from .common.errors import RefusedError as RefusedError
from .common.errors import TargetError as TargetError
from .common.lazy import lazy_names
from .common.version import __version__ as __version__

if TYPE_CHECKING:
    from .analyze.library import ReportOptions as ReportOptions
    from .analyze.library import ReportResult as ReportResult
    from .analyze.library import report as report
    from .analyze.verdicts.verdict import Margin as Margin
    from .capture.library import CaptureOptions as CaptureOptions
    from .capture.library import capture as capture
    from .experiments.library import CompareOptions as CompareOptions
    from .experiments.library import CompareResult as CompareResult
    from .experiments.library import compare as compare
    from .replay.options import ReplayOptions as ReplayOptions
    from .replay.plan.overrides import Overrides as Overrides
    from .replay.plan.pacing import Amplification as Amplification
    from .replay.plan.pacing import Pace as Pace
    from .replay.plan.selection import Selection as Selection
    from .replay.replay_tape import replay as replay
    from .replay.summary import RunSummary as RunSummary
    from .replay.watcher import Watcher as Watcher
    from .schemas.opened import Run as Run
    from .schemas.opened import Tape as Tape
    from .schemas.opened import open_run as open_run
    from .schemas.opened import open_tape as open_tape
    from .servers.target import Target as Target
    from .servers.target import parse_target as parse_target
else:
    __getattr__, __all__ = lazy_names(__name__, ("capture", "replay"))
