# SPDX-License-Identifier: Apache-2.0
"""Finds the last calibration of this machine, which `querytape calibrate` keeps in the user's cache."""

import json
import socket
from pathlib import Path
from typing import Any

from ..common.files import cache_folder


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
    return kept if mine and isinstance(kept.get("levels"), list) else None
