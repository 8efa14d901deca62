# SPDX-License-Identifier: Apache-2.0
"""Switch a server's own log on for a while and set every setting back; the log is then a source like any other."""

from .hand_back import HandedBack, WatchOptions
from .logging_plan import METHODS, LoggingPlan, RecordOptions, check_options, plan_logging, with_renewal
from .recording import Recorded, record_log, restore_server, settle_recorded
from .rights import Rights, check_rights
from .taping import tape_of

__all__ = [
    "METHODS",
    "HandedBack",
    "LoggingPlan",
    "RecordOptions",
    "Recorded",
    "Rights",
    "WatchOptions",
    "check_options",
    "check_rights",
    "plan_logging",
    "record_log",
    "restore_server",
    "settle_recorded",
    "tape_of",
    "with_renewal",
]
