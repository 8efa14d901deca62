# SPDX-License-Identifier: Apache-2.0
"""Enable a log of the server for a limited time and restore every setting.

The log is then read like any other source.
"""

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
