# SPDX-License-Identifier: Apache-2.0
"""Say where a tape's durations were taken, in words."""

from typing import Any

PLACES = {"server": "in the server", "wire": "on the wire", "proxy": "at the proxy", "client": "in the client"}


def describe(tape_info: dict[str, Any]) -> str:
    """Return the measuring point of a tape with this tape.json: "in the server", "on the wire", ..."""
    return PLACES.get(str(tape_info.get("measuring_point")), "elsewhere")
