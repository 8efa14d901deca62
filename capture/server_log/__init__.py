# SPDX-License-Identifier: Apache-2.0
"""Switch a server's own log on for a while and set every setting back; the log is then a source like any other."""

from .plan import METHODS, LoggingPlan, RecordOptions, Rights, check_options, check_rights, plan_logging, with_renewal
from .restore import HandedBack, WatchOptions
from .run import Recorded, record_log, restore_server, settle_recorded, tape_of

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
