# SPDX-License-Identifier: Apache-2.0
"""Measures how long the query plans of 5,000 digests on two servers take.

Run `python -m querytape.bench.plans [--digests 5000]`. Two private servers have fifty tables each. One of the servers
lacks half of the indexes. A slow log has one statement shape per digest, with six values each. The target is three
minutes.
"""

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from ..analyze import build_plans
from ..capture import SOURCES, Settings, capture_source
from ..experiments.plans import ask_plans
from ..replay import parse_target
from ..servers.sandbox import Server, start_server

TABLES, COLUMNS, ROWS, VALUES = 50, 10, 500, 6


def main() -> int:
    """Print the seconds and the findings."""
    parser = argparse.ArgumentParser(prog="bench.plans")
    parser.add_argument("--digests", type=int, default=5_000)
    parser.add_argument("--kinds", default="mariadb,mysql-8.0", help="of the two servers")
    options = parser.parse_args()
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qt-bench-")))
        a, b = (stack.enter_context(start_server(kind)) for kind in options.kinds.split(","))
        prepare(a, indexed=COLUMNS)
        prepare(b, indexed=COLUMNS // 2)
        write_log(work / "slow.log", options.digests)
        capture_source(SOURCES["slowlog"], [str(work / "slow.log")], work / "t.tape", Settings())
        began, load = time.monotonic(), os.getloadavg()[0]
        targets = {side: parse_target(server.url("shop"), environ={}) for side, server in (("a", a), ("b", b))}
        folder = ask_plans(work / "t.tape", targets, work / "p")
        asked_s = time.monotonic() - began
        report = build_plans(folder.path)
        print(
            f"{folder.info['digests']:,} digests on two servers: {asked_s:.1f} s asked,"
            f" {time.monotonic() - began - asked_s:.1f} s reported; {report.counts};"
            f" {os.cpu_count()} cores, load {load:.1f}; {report.limits or 'nothing left out'}"
        )
    return 0


def prepare(server: Server, indexed: int) -> None:
    """Create the tables with an index on the first `indexed` columns."""
    server.execute("CREATE DATABASE shop")
    columns = ", ".join(f"c{n} INT" for n in range(COLUMNS))
    keys = "".join(f", KEY k{n} (c{n})" for n in range(indexed))
    for table in range(TABLES):
        server.execute(f"CREATE TABLE t{table} (id INT PRIMARY KEY, {columns}{keys})", db="shop")
        rows = ", ".join(f"({i}, {', '.join(str(i * (n + 3) % 97) for n in range(COLUMNS))})" for i in range(ROWS))
        server.execute(f"INSERT INTO t{table} VALUES {rows}", db="shop")
        server.execute(f"ANALYZE TABLE t{table}", db="shop")


def write_log(path: Path, digests: int) -> None:
    """Write a slow log with this number of statement shapes."""
    with path.open("w", encoding="utf-8") as log:
        for shape in range(digests):
            table, by, wanted, order = shape % TABLES, shape // TABLES % 10, shape // 500 % 10, shape // 5000
            for value in range(VALUES):
                log.write(
                    f"# Time: 2026-01-01T00:00:{value:02d}.{shape:06d}Z\n# User@Host: app[app] @ h [1.1.1.1]  Id: 7\n"
                    "# Schema: shop  QC_hit: No\n"
                    f"# Query_time: 0.00{shape % 9 + 1}000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
                    f"SET timestamp=1767225600;\nSELECT c{wanted}, COUNT(*) FROM t{table} AS s{order}"
                    f" WHERE c{by} = {value * 13} GROUP BY c{wanted};\n"
                )


if __name__ == "__main__":
    raise SystemExit(main())
