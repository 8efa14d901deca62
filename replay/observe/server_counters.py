# SPDX-License-Identifier: Apache-2.0
"""Reads what a server counts of its writes, before and after a run: the binary log, syncs, lock waits."""

from contextlib import closing

from ...common.errors import TargetError
from ...servers.queries import query_or_none, whole
from ...servers.target import Target

COUNTERS = (
    "Binlog_cache_use", "Binlog_stmt_cache_use", "Innodb_data_fsyncs", "Innodb_log_waits", "Innodb_os_log_fsyncs",
    "Innodb_row_lock_waits", "Uptime",
)  # fmt: skip
ASK = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(", ".join(f"'{name}'" for name in COUNTERS))


def server_counters(target: Target, timeout_s: int) -> dict[str, int] | None:
    """Return the server's counters by name in lower case; None where it can't be asked."""
    try:
        with closing(target.connect(timeout_s)) as con:
            rows = query_or_none(con, ASK, 2) or ()
    except TargetError:
        return None
    return {str(row[0]).lower(): number for row in rows if (number := whole(row[1])) is not None} or None
