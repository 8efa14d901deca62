# SPDX-License-Identifier: Apache-2.0
"""Measuring points, in words: where a tape's durations were taken."""

from typing import Any

TAKEN = {"server": "in the server", "wire": "on the wire", "proxy": "at the proxy", "client": "in the client"}


def taken(info: dict[str, Any]) -> str:
    """Return where the durations of a tape with this JSON were taken."""
    return TAKEN.get(str(info.get("measuring_point")), "elsewhere")
