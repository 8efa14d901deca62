# SPDX-License-Identifier: Apache-2.0
"""Count what a server answers from its query cache (MySQL before 8.0, MariaDB), before and after a run."""

from contextlib import closing

from ...common.errors import TargetError
from ...servers.queries import query_or_none, whole
from ...servers.target import Target

COUNTERS = ("Qcache_hits", "Qcache_inserts", "Qcache_not_cached", "Com_select")
ASK = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(", ".join(f"'{name}'" for name in COUNTERS))


def cache_counters(target: Target, timeout_s: int) -> dict[str, int] | None:
    """Return the server's counters by name in lower case; None where it has no query cache or can't be asked."""
    try:
        with closing(target.connect(timeout_s)) as con:
            rows = query_or_none(con, ASK, 2) or ()
    except TargetError:
        return None
    found = {str(row[0]).lower(): number for row in rows if (number := whole(row[1])) is not None}
    return found if "qcache_hits" in found else None
