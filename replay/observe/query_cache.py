# SPDX-License-Identifier: Apache-2.0
"""Count what a server answers from its query cache (MySQL before 8.0, MariaDB), before and after a run."""

from ...servers.target import Target
from .server_counters import server_counters

COUNTERS = ("Qcache_hits", "Qcache_inserts", "Qcache_not_cached", "Com_select")


def cache_counters(target: Target, timeout_s: int) -> dict[str, int] | None:
    """Return the server's counters by name in lower case; None where it has no query cache or can't be asked."""
    found = server_counters(target, timeout_s, COUNTERS)
    return found if found and "qcache_hits" in found else None
