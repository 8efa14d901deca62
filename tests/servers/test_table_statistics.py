# SPDX-License-Identifier: Apache-2.0
"""Tables that the optimizer takes for nearly empty."""

from contextlib import closing

import pymysql
from querytape.servers.sandbox import Server
from querytape.servers.table_statistics import stale_statistics

ROWS = "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < {})"
FILL = ROWS.replace("{}", "900") + " SELECT n.id + {} * 1000, REPEAT('x', 2000) FROM n"


def test_a_restored_table_until_it_is_analyzed(server: Server) -> None:
    """A table that was filled; not an empty one, nor one that was analyzed, nor one whose rows were deleted."""
    server.execute("DROP DATABASE IF EXISTS restored")
    server.execute("CREATE DATABASE restored")
    for table in ("loaded", "analyzed", "deleted", "empty"):
        options = "ENGINE = InnoDB STATS_AUTO_RECALC = 0"  # the background would make them anew at any moment
        server.execute(f"CREATE TABLE restored.{table} (id INT PRIMARY KEY, v TEXT) {options}")
        for part in range(3 if table != "empty" else 0):
            server.execute(f"INSERT INTO restored.{table} {FILL.format(part)}")
    server.execute("DELETE FROM restored.deleted WHERE id > 100")
    server.execute("ANALYZE TABLE restored.analyzed")
    with closing(server.connect()) as con:
        found = [name for name in stale_statistics(con) if name.startswith("restored.")]
    server.execute("DROP DATABASE restored")
    assert found == ["restored.loaded"]


def test_an_account_that_may_not_see_it(server: Server) -> None:
    """Nothing is known, and nothing is said."""
    server.execute("CREATE USER blind")
    with closing(pymysql.connect(host="127.0.0.1", port=server.port, user="blind", ssl_disabled=True)) as con:
        assert stale_statistics(con) == ()
    server.execute("DROP USER blind")
