# SPDX-License-Identifier: Apache-2.0
"""Switch a server's own log on for a while and set every setting back; the log is then a source like any other."""

from .logging_plan import METHODS, LoggingPlan, RecordOptions, check_options, plan_logging
from .recording import Recorded, record_log, restore_server

__all__ = [
    "METHODS",
    "LoggingPlan",
    "RecordOptions",
    "Recorded",
    "check_options",
    "plan_logging",
    "record_log",
    "restore_server",
]
