# SPDX-License-Identifier: Apache-2.0
"""Source: a server's own log, switched on for a while and taken back, with nothing to copy."""

from .recording import (
    METHODS,
    Plan,
    Recorded,
    RecordOptions,
    check_options,
    make_plan,
    record,
    restore_server,
)

__all__ = [
    "METHODS",
    "Plan",
    "RecordOptions",
    "Recorded",
    "check_options",
    "make_plan",
    "record",
    "restore_server",
]
