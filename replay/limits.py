# SPDX-License-Identifier: Apache-2.0
"""Where the last calibration of this machine is kept."""

import json
import os
import socket
from pathlib import Path
from typing import Any


def cache_file() -> Path:
    """Return where the last calibration is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "querytape" / "calibration.json"


def last_calibration() -> dict[str, Any] | None:
    """Return the last calibration of this machine, None where there is none."""
    try:
        found = json.loads(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    mine = isinstance(found, dict) and found.get("machine") == socket.gethostname()
    return found if mine and isinstance(found.get("levels"), list) else None
