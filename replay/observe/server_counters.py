# SPDX-License-Identifier: Apache-2.0
"""Read what a server counts before and after a run.

Of its writes: the binary log, syncs, lock waits. Of its query cache (MySQL before 8.0, MariaDB): what it answered.
"""

from collections.abc import Sequence
from contextlib import closing

from ...common.errors import TargetError
from ...servers.queries import query_or_none, whole
from ...servers.target import Target

OF_WRITES = (
    "Binlog_cache_use", "Binlog_stmt_cache_use", "Innodb_data_fsyncs", "Innodb_log_waits", "Innodb_os_log_fsyncs",
    "Innodb_row_lock_waits", "Uptime",
)  # fmt: skip
OF_QUERY_CACHE = ("Qcache_hits", "Qcache_inserts", "Qcache_not_cached", "Com_select")


def server_counters(target: Target, timeout_s: int, names: Sequence[str] = OF_WRITES) -> dict[str, int] | None:
    """Return counters of the server by name in lower case, those that it has; None where it can't be asked."""
    try:
        with closing(target.connect(timeout_s)) as con:
            rows = query_or_none(con, question(names), 2) or ()
    except TargetError:
        return None
    return {str(row[0]).lower(): number for row in rows if (number := whole(row[1])) is not None} or None


def cache_counters(target: Target, timeout_s: int) -> dict[str, int] | None:
    """Return the server's counters by name in lower case; None where it has no query cache or can't be asked."""
    found = server_counters(target, timeout_s, OF_QUERY_CACHE)
    return found if found and "qcache_hits" in found else None


def question(names: Sequence[str]) -> str:
    """Return the statement that asks for counters."""
    listed = ", ".join(f"'{name}'" for name in names)
    return f"SHOW GLOBAL STATUS WHERE Variable_name IN ({listed})"
