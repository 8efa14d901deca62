# SPDX-License-Identifier: Apache-2.0
"""Records real logs for the benches. A private MariaDB writes them under the load of sysbench."""

import shutil
import time
from pathlib import Path

from ..servers.sandbox import Server, start_server
from .pairs import MissingError, run_program

TABLE_ROWS = 100_000
THREADS = 16
MAX_S = 180


def sysbench(server: Server, test: str, threads: int, *options: str) -> tuple[str, ...]:
    """Return a sysbench command for the server, over TCP, with plain text queries."""
    if shutil.which("sysbench") is None:
        raise MissingError("sysbench (package sysbench)")
    return (
        *("sysbench", test, "--mysql-host=127.0.0.1", f"--mysql-port={server.port}", f"--mysql-user={server.user}"),
        *("--db-ps-mode=disable", f"--table-size={TABLE_ROWS}", f"--threads={threads}", *options),
    )


def record_log(work: Path, megabytes: int, switch: str = "slow_query_log") -> Path:
    """Run oltp_read_write until the slow log or the general log has this size in megabytes.

    Return a copy of the log.
    """
    config = {"innodb-buffer-pool-size": "512M", "innodb-flush-log-at-trx-commit": "0", "skip-log-bin": ""}
    kept = work / f"{switch}.log"
    with start_server("mariadb", config={**config, "general-log-file": "general.log"}) as server:
        log = server.slow_log if switch == "slow_query_log" else server.datadir / "general.log"
        server.execute("CREATE DATABASE sbtest")
        run_program(*sysbench(server, "oltp_read_write", 1), "prepare")
        server.execute("SET GLOBAL log_slow_verbosity = 'query_plan,innodb', GLOBAL long_query_time = 0")
        server.execute(f"SET GLOBAL {switch} = ON")
        began = time.monotonic()
        while log.stat().st_size < megabytes * 1_000_000 and time.monotonic() - began < MAX_S:
            run_program(*sysbench(server, "oltp_read_write", THREADS, "--time=5"), "run")
        server.execute(f"SET GLOBAL {switch} = OFF")
        shutil.copyfile(log, kept)
    return kept
