# SPDX-License-Identifier: Apache-2.0
"""Tells whether a driver was given the options that its lead was given, without either sending them.

Each side makes a keyed hash of each option's value; values may be statements (--init) or names of accounts.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping

from ..options import ReplayOptions

# What is each machine's own, or the lead's alone.
OWN = frozenset(
    {"start_at_ns", "sample_ns", "host_metrics", "queue_bytes", "timer_probes", "connect_timeout_s", "reads_to"}
)
WORDS = 16  # hexadecimal digits of each hash


def prints_of(options: ReplayOptions, key: bytes) -> dict[str, str]:
    """Return a keyed hash of each option that all drivers must have alike, by its name in run.json's `parameters`."""
    values = {name: value for name, value in options.as_json().items() if name not in OWN}
    values["reads_to"] = options.reads_to is not None
    return {name: _print(value, key) for name, value in values.items()}


def _print(value: object, key: bytes) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hmac.new(key, b"option\0" + text.encode(), hashlib.sha256).hexdigest()[:WORDS]


def differing(mine: Mapping[str, str], theirs: Mapping[str, object]) -> list[str]:
    """Return the options that are not alike."""
    return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
