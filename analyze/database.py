# SPDX-License-Identifier: Apache-2.0
"""Register the analyses (one `.sql` file and one name each), and open the database that runs them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import load_sql, open_database, sql_text
from ..common.temporary import TemporaryFolder
from ..schemas import ddl

# Analyses that a report shows: files of sql/report.
REPORT = (
    "accounting",
    "lateness",
    "totals",
    "digests",
    "pairs",
    "errors",
    "error_counts",
    "failed_everywhere",
    "lost_sessions",
    "results",
    "compared",
    "timeline",
    "stalls",
    "relative_latency",
    "groups",
    "counters",
    "series",
    "rounds",
    "server_times",
    "interference",
)
# SUMMARY: files of sql/summary that turn the events of the runs into small tables, in the order of their work. SUSPECTS
# lists the digests whose values RACES needs (row_values.py). QUANTILES makes the last tables. All other analyses of a
# report read only these tables.
SUMMARY = ("names", "join", "spans", "facts", "events", "chosen")
SUSPECTS, RACES, QUANTILES = "suspects", "races", "quantiles"
# DETAILS: analyses for the statement details and the heat map. VERDICTS: analyses for the verdicts. Their files are in
# sql/report.
DETAILS = ("distribution", "digest_timeline", "heat")
VERDICTS = ("blocks", "slow_tail", "few_pairs")
# Analyses of the content of a tape: files of sql/inspect.
INSPECT = (
    "totals",
    "commands",
    "classes",
    "digests",
    "accounts",
    "concurrency",
    "arrivals",
    "transactions",
    "sizes",
    "tables",
)
# Analyses for the charts on a tape's page. Their files are in sql/inspect.
PICTURES = ("over_time", "heat", "think_times")
# Analyses of a tape that only bug reports need (tape_facts.py). Bug reports also use some analyses of INSPECT.
FACTS = ("flags", "errors")
# Analyses of the statements of a tape: files of sql/workload. The files of WORKLOAD_TABLES create the tables that these
# analyses read.
WORKLOAD = (
    "parsed",
    "not_parsed",
    "usage",
    "columns",
    "signatures",
    "lock_orders",
    "n_plus_one",
    "open_transactions",
    "not_committed",
    "constant_reads",
    "hot_rows",
    "waits",
)
WORKLOAD_TABLES = ("digests", "events", "transactions", "keys")

# Types of columns with repeated names, by column name. Parquet files have the names themselves.
ENUMS = {
    **dict.fromkeys(("digest", "set_digest"), "digest_name"),
    **dict.fromkeys(("class", "user", "db", "run", "status"), "short_name"),
    "kind": "result_kind",
}

Row = dict[str, Any]
ROW_BYTES = 110  # memory per row of the largest table, in bytes
SHARE_BYTES = 150  # memory per row while the rows of a share are joined


@dataclass
class AnalysisDatabase:
    """A DuckDB connection with limited memory that runs analyses.

    Each analysis is named by its path in `sql` without the suffix.
    """

    con: duckdb.DuckDBPyConnection
    folder: TemporaryFolder

    def set_variable(self, name: str, value: Any, type_name: str) -> None:
        """Set an SQL variable. The variable has the given type even if the value is None."""
        self.con.execute(f"SET VARIABLE {name} = CAST($1 AS {type_name})", [value])

    def place(self, rows: int) -> int:
        """Put new tables in memory if the largest table (`rows` rows) fits, otherwise on disk.

        Return the number of shares in which the largest table should be made, so that each share fits into memory.
        """
        size = rows * ROW_BYTES
        fits = size <= self.limit()
        self.con.execute("USE memory" if fits else "USE disk")
        return 1 if fits else -(-rows * SHARE_BYTES // self.limit())

    def is_small(self, rows: int) -> bool:
        """Return whether `rows` outcomes are few enough to load into a table.

        Without the table each query would open the outcome files again.
        """
        return rows * ROW_BYTES <= self.limit() // 64

    def limit(self) -> int:
        """Return the memory limit of the connection in bytes."""
        ((limit,),) = self.con.execute("SELECT parse_formatted_bytes(current_setting('memory_limit'))").fetchall()
        return int(limit)

    def run(self, name: str) -> None:
        """Run a file that only creates tables and views."""
        self.con.execute(_sql(name))

    def query(self, name: str) -> list[Row]:
        """Return the rows of an analysis as dicts."""
        cursor = self.con.execute(_sql(name))
        columns = [column[0] for column in cursor.description or []]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]

    def columns(self, name: str) -> dict[str, Any]:
        """Return the rows of an analysis as NumPy columns."""
        return dict(self.con.execute(_sql(name)).fetchnumpy())

    def close(self) -> None:
        """Close the connection and remove its temporary files."""
        self.con.close()
        self.folder.remove()


def _sql(name: str) -> str:
    return load_sql(__package__, f"{name}.sql")


def open_analysis(memory: str = "1500MB", threads: int | None = None) -> AnalysisDatabase:
    """Open a database for analyses. Its tables are in a temporary file, so large runs need little memory.

    `threads`: None means one thread per core.
    """
    folder = TemporaryFolder()
    con = open_database(Path(folder.name) / "spill", memory, threads=threads, keep_order=False)
    con.execute(f"ATTACH {sql_text(Path(folder.name) / 'analysis.duckdb')} AS disk; USE disk")
    con.execute(ddl("names"))
    return AnalysisDatabase(con, folder)
