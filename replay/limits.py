# SPDX-License-Identifier: Apache-2.0
"""Where the last calibration of this machine is kept."""

import json
import socket
from pathlib import Path
from typing import Any

from ..schemas import cache_folder


def cache_file() -> Path:
    """Return where the last calibration is kept."""
    return cache_folder() / "calibration.json"


def last_calibration() -> dict[str, Any] | None:
    """Return the last calibration of this machine, None where there is none."""
    try:
        found = json.loads(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    mine = isinstance(found, dict) and found.get("machine") == socket.gethostname()
    return found if mine and isinstance(found.get("levels"), list) else None
