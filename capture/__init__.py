# SPDX-License-Identifier: Apache-2.0
"""Sources to tapes. One source is one file here and one line in SOURCES."""

from .finish import recover
from .slowlog import SlowlogOptions, capture_slowlog

SOURCES = {
    "slowlog": capture_slowlog,
}

__all__ = ["SOURCES", "SlowlogOptions", "capture_slowlog", "recover"]
