# SPDX-License-Identifier: Apache-2.0
"""Name tables that the optimizer takes for nearly empty, as after a restore.

InnoDB makes the statistics of a table when it is created. It makes them anew in the background once a tenth of the rows
has changed (MySQL 8.4 manual, section 17.8.10.1), but not of a table that it no longer has open.
"""

from typing import Any

from pymysql.connections import Connection

from .queries import query_or_none, whole

# MySQL 8; MariaDB and MySQL 5.7.
FILES = ("information_schema.INNODB_TABLESPACES", "information_schema.INNODB_SYS_TABLESPACES")
SPARE_PAGES = 64  # which a file has besides its indexes; smaller tables are not looked at
FEW_ROWS = 1_000
MOST_ROWS = 100_000  # of the statistics: the rows of larger tables are not counted
MOST_TABLES = 50


def stale_statistics(con: "Connection[Any]") -> tuple[str, ...]:
    """Return such tables as `schema.table`: they have more than twice as many rows as the statistics say, and 1,000.

    None where the account may not see it (SELECT on mysql.innodb_table_stats, PROCESS); partitions are not looked at.
    Raises TargetError where the connection is lost.
    """
    for files in FILES:
        # One whose file is much larger than its indexes may also have had its rows deleted: those that are left count.
        rows = query_or_none(
            con,
            "SELECT s.database_name, s.table_name, s.n_rows FROM mysql.innodb_table_stats s"
            f" JOIN {files} f ON f.NAME = CONCAT(s.database_name, '/', s.table_name) WHERE f.FILE_SIZE >"
            f" @@innodb_page_size * ({SPARE_PAGES} + 2 * (s.clustered_index_size + s.sum_of_other_index_sizes))"
            f" AND s.n_rows < {MOST_ROWS} ORDER BY f.FILE_SIZE DESC, 1, 2 LIMIT {MOST_TABLES}",
            3,
        )
        if rows is not None:
            found = [(str(row[0]), str(row[1]), whole(row[2]) or 0) for row in rows]
            return tuple(f"{schema}.{table}" for schema, table, n in found if _has_more(con, schema, table, n))
    return ()


def _has_more(con: "Connection[Any]", schema: str, table: str, rows: int) -> bool:
    """Return whether a table has more rows than twice so many, and FEW_ROWS."""
    most = 2 * rows + FEW_ROWS
    name = ".".join(f"`{part.replace('`', '``')}`" for part in (schema, table))
    counted = query_or_none(con, f"SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT {most}) AS some")
    return counted is not None and whole(counted[0][0]) == most
