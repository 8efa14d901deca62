# SPDX-License-Identifier: Apache-2.0
"""Finds the last calibration of this machine, which `querytape calibrate` keeps in the user's cache."""

import json
import socket
from pathlib import Path
from typing import Any

from ..common.files import cache_folder

MAX_NUMBER = 1e18


def cache_file() -> Path:
    """Return where the last calibration is kept."""
    return cache_folder() / "calibration.json"


def last_calibration() -> dict[str, Any] | None:
    """Return the last calibration of this machine, None where there is none."""
    try:
        kept = json.loads(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    mine = isinstance(kept, dict) and kept.get("machine") == socket.gethostname()
    levels = kept.get("levels") if mine else None
    return kept if isinstance(levels, list) and all(map(is_level, levels)) else None


def is_level(value: Any) -> bool:
    """Whether a value of the file can be a level: nothing that comes from a file is believed."""
    if not isinstance(value, dict) or not isinstance(value.get("pace"), str):
        return False
    rate, late = value.get("queries_per_second"), value.get("late_p99_ns")
    return _is_number(rate) and (late is None or _is_number(late))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < MAX_NUMBER
